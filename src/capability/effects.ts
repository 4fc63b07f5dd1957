/** What a call does to the world. Everything a client is told about it is computed from this. */
export interface Effects {
  /** Changes something. */
  readonly writes: boolean
  /** What it changes cannot be changed back, or costs much. */
  readonly irreversible: boolean
  /** A second identical call changes nothing further, so it may be tried again. */
  readonly repeatable: boolean
  /** Talks to systems beyond this process. */
  readonly reachesOut: boolean
}

export const reads: Effects = {
  writes: false,
  irreversible: false,
  repeatable: true,
  reachesOut: false,
}
