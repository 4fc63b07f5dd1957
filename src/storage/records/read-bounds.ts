/**
 * Limits of one slice, so that a read never blocks the event loop for long. A reader that needs more asks for
 * the next slice, and other calls run in between.
 */
export interface ReadBounds {
  /** Rows of an index scan that filters. */
  readonly walked: number
  /** Matches of the full-text index when they are filtered. */
  readonly matched: number
  /** Changes of each kind. */
  readonly changed: number
  /** Rows that are counted row by row. */
  readonly counted: number
  /** Rows that are counted by group: there may be as many groups as rows. */
  readonly grouped: number
  /** Bytes of the rows that are counted; the last row may exceed it. */
  readonly passed: number
  /** Granted keys that are looked up one by one; with more of them, an index is scanned. */
  readonly keys: number
  /** Bytes of a body that is read together with its row; longer ones are read separately. */
  readonly body: number
  /** Bytes of all long bodies together; at least one is always read. */
  readonly bodies: number
}

export const defaultReadBounds: ReadBounds = {
  walked: 1000,
  matched: 3000,
  changed: 400,
  counted: 2000,
  grouped: 1000,
  passed: 4 * 1024 * 1024,
  keys: 500,
  body: 4 * 1024,
  bodies: 256 * 1024,
}
