/** Side effects of a call. MCP annotations and the rules for retries are derived from them. */
export interface Effects {
  /** Changes something. */
  readonly writes: boolean
  /** The change cannot be undone, or is expensive. */
  readonly irreversible: boolean
  /** Idempotent: a second identical call changes nothing more, so a retry is safe. */
  readonly repeatable: boolean
  /** Talks to systems outside this process. */
  readonly reachesOut: boolean
}

export const readOnly: Effects = {
  writes: false,
  irreversible: false,
  repeatable: true,
  reachesOut: false,
}
