import type { ReadBounds } from '../../src/storage/records/read-bounds.ts'

/** Bounds so small that every read takes several steps. */
export const smallReadBounds: ReadBounds = {
  maxScannedRows: 3,
  maxMatches: 2,
  maxChanges: 2,
  maxCountedRows: 3,
  maxGroupedRows: 2,
  maxCountedBytes: 100,
  maxLookupKeys: 4,
  maxInlineBodyBytes: 60,
  maxLongBodyBytes: 150,
}
