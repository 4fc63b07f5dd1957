/**
 * Limits of one slice, so that a read never blocks the event loop for long. A reader that needs more asks for
 * the next slice, and other calls run in between.
 */
export interface ReadBounds {
  /** Rows of an index scan that filters. */
  readonly maxScannedRows: number
  /** Matches of the full-text index when they are filtered. */
  readonly maxMatches: number
  /** Changes of each kind. */
  readonly maxChanges: number
  /** Rows that are counted row by row. */
  readonly maxCountedRows: number
  /** Rows that are counted by group: there may be as many groups as rows. */
  readonly maxGroupedRows: number
  /** Bytes of the rows that are counted; the last row may exceed it. */
  readonly maxCountedBytes: number
  /** Granted keys that are looked up one by one; with more of them, an index is scanned. */
  readonly maxLookupKeys: number
  /** Bytes of a body that is read together with its row; longer ones are read separately. */
  readonly maxInlineBodyBytes: number
  /** Bytes of all long bodies together; at least one is always read. */
  readonly maxLongBodyBytes: number
}

export const defaultReadBounds: ReadBounds = {
  maxScannedRows: 1000,
  maxMatches: 3000,
  maxChanges: 400,
  maxCountedRows: 2000,
  maxGroupedRows: 1000,
  maxCountedBytes: 4 * 1024 * 1024,
  maxLookupKeys: 500,
  maxInlineBodyBytes: 4 * 1024,
  maxLongBodyBytes: 256 * 1024,
}
