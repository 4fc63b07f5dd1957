/** Says why something could not be loaded or read. Used at load time; calls fail with a `Failed`. */
export interface Fault {
  readonly fault: string
}

export const isFault = (value: object): value is Fault => 'fault' in value
