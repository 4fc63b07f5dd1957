import { type All, sql } from '../../sqlite/sql.ts'
import { recordTable, segmentTable, staleTable } from '../table-names.ts'
import { segmentLength } from './column.ts'
import type { LoadedColumn } from './column-cache.ts'

export interface Segment {
  /** It holds the records after `first` and up to `last`. */
  readonly first: number
  readonly last: number
  readonly rows: number
  readonly version: number
}

/** The segments of one source at one state of the file. */
export interface SegmentDirectory {
  /** Changes with every write to the file. */
  readonly stamp: string
  readonly segments: readonly Segment[]
  /** The last record of the last segment. */
  readonly lastSealedId: number
  /** Ids of changed or deleted records in segments, ascending. */
  readonly staleIds: Float64Array
  /** The last record of the tail; `undefined` when the tail is too long for columns. */
  readonly end: number | undefined
  /** Columns read from the record table: the tail, and the present values of stale records. */
  readonly rowColumns: Map<string, LoadedColumn>
}

/** A longer tail is counted row by row. */
const maxTailRows = segmentLength
const maxTailBytes = 4 * 1024 * 1024

export function readDirectory(all: All, n: number, stamp: string): SegmentDirectory {
  const segments = all<Segment>(sql`
    select lag(last, 1, 0) over (order by last) as first, last, rows, version
    from ${segmentTable(n)} order by last`)
  const lastSealedId = segments.at(-1)?.last ?? 0
  const [row] = all<{ ids: string }>(
    sql`select json_group_array(id) as ids from (select id from ${staleTable(n)} order by id)`,
  )
  const [tail] = all<{ end: number | null; count: number; size: number | null }>(sql`
    select max(id) as end, count(*) as count, sum(size) as size
    from (
      select id, octet_length(body) as size from ${recordTable(n)}
      where id > ${lastSealedId} order by id limit ${maxTailRows + 1}
    )`)
  const isShort = tail && tail.count <= maxTailRows && (tail.size ?? 0) <= maxTailBytes
  return {
    stamp,
    segments,
    lastSealedId,
    staleIds: Float64Array.from(JSON.parse(row?.ids ?? '[]') as number[]),
    end: isShort ? (tail.end ?? lastSealedId) : undefined,
    rowColumns: new Map(),
  }
}

export const staleIn = ({ staleIds }: SegmentDirectory, { first, last }: Segment): Float64Array =>
  staleIds.subarray(countUpTo(staleIds, first), countUpTo(staleIds, last))

/** How many of these ascending ids are at most `max` (binary search). */
export function countUpTo(ids: Float64Array, max: number): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] as number) <= max) low = middle + 1
    else high = middle
  }
  return low
}
