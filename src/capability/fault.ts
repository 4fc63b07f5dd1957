/** The reason why loading, parsing or an operator's action failed. Calls fail with `Failed`. */
export interface Fault {
  readonly fault: string
}

export const isFault = (value: object): value is Fault => 'fault' in value
