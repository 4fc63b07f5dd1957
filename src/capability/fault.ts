/** Why something could not be loaded or parsed. Load time only: calls fail with `Failed`. */
export interface Fault {
  readonly fault: string
}

export const isFault = (value: object): value is Fault => 'fault' in value
