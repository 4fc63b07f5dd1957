import type { Scope } from '../../../sources/records/model/scope.ts'
import type { TallyQuery, TallySlice } from '../../../sources/records/record-store.ts'
import { type All, sql } from '../../sqlite/sql.ts'
import { columnTable, staleTable } from '../table-names.ts'
import { segmentLength } from './column.ts'
import { ColumnCache, ColumnUnavailable } from './column-cache.ts'
import { type Batch, createScan, type Scan, type Texts } from './column-scan.ts'
import { arrivals, type ColumnField, readColumns } from './packed-columns.ts'
import {
  countUpTo,
  readDirectory,
  type Segment,
  type SegmentDirectory,
  staleIn,
} from './segment-directory.ts'
import { hasColumn, toBuffer } from './segment-writer.ts'

/** Work of one slice; a cached segment counts as 1. */
const maxWork = 32
/** Work of a segment that is read from the file first. */
const workOfReading = 12
/** Groups after which a slice ends: each becomes an object. */
const maxGroups = segmentLength

/** Counts from columns where they hold every field of the query. */
export class SegmentReader {
  readonly #all: All
  readonly #directories = new Map<number, SegmentDirectory>()
  readonly #columns = new ColumnCache()
  #catalogVersion = ''

  constructor(all: All) {
    this.#all = all
  }

  /** Runs in a read transaction of the caller; `undefined` when the columns cannot answer the query. */
  tally(scope: Scope, { after, ...query }: TallyQuery): TallySlice | undefined {
    const { source, window, keys } = scope
    if (keys) return undefined
    if (window && (window.field.n === 0 || !(window.from < window.to))) return { tallies: [] }
    const queryFields = [
      ...query.conditions.map(({ field }) => field),
      query.field,
      query.group?.field,
    ].filter((field) => field !== undefined)
    if (!queryFields.every((field) => hasColumn(source.stream, field))) return undefined
    if (query.field?.type === 'string' && !query.distinct) return undefined
    this.#columns.evict()
    const directory = this.#directory(source.n)
    const fields = [...new Set([...queryFields, ...(window ? [window.field] : [])])]
    const scan = createScan(scope, query)
    try {
      const last =
        after < directory.lastSealedId
          ? this.#addSegments(source.n, fields, directory, after, scan)
          : this.#addTail(source.n, fields, directory, after, scan)
      if (last === undefined) return undefined
      const tallies = scan.result()
      return last > after ? { tallies, resume: last } : { tallies }
    } catch (error) {
      if (error instanceof ColumnUnavailable) return undefined
      throw error
    }
  }

  /** Scans the segments of one slice; returns the last record of them. */
  #addSegments(
    n: number,
    fields: readonly ColumnField[],
    directory: SegmentDirectory,
    after: number,
    scan: Scan,
  ): number {
    const { segments } = directory
    let last = after
    let work = 0
    for (
      let at = segments.findIndex((segment) => segment.last > after);
      at < segments.length;
      at++
    ) {
      const segment = segments[at] as Segment
      const reading = this.#readSegment(n, fields, directory, segment, after)
      // A segment without the columns ends this slice; the next one counts it row by row.
      if (!reading && last > after) break
      if (!reading) throw new ColumnUnavailable()
      for (const batch of reading.batches) scan.add(batch)
      last = segment.last
      work += reading.work
      if (work >= maxWork || scan.groups() >= maxGroups) break
    }
    return last
  }

  /** A segment without its stale records, and the present values of those. */
  #readSegment(
    n: number,
    fields: readonly ColumnField[],
    directory: SegmentDirectory,
    segment: Segment,
    after: number,
  ): { readonly batches: readonly Batch[]; readonly work: number } | undefined {
    try {
      const work = this.#load(n, fields, segment) ? workOfReading : 1
      const batch = this.#toBatch(n, directory, segment, after)
      if (staleIn(directory, segment).length === 0) return { batches: [batch], work }
      const range = [segment.first, segment.last] as const
      const rowBatch = this.#toRowBatch(n, fields, directory, range, after)
      return { batches: [batch, rowBatch], work: work + workOfReading }
    } catch (error) {
      if (error instanceof ColumnUnavailable) return undefined
      throw error
    }
  }

  /** Scans the records after the last segment; `undefined` when there are too many. */
  #addTail(
    n: number,
    fields: readonly ColumnField[],
    directory: SegmentDirectory,
    after: number,
    scan: Scan,
  ): number | undefined {
    const { lastSealedId, end } = directory
    if (end === undefined) return undefined
    if (end > after) scan.add(this.#toRowBatch(n, fields, directory, [lastSealedId, end], after))
    return end
  }

  #directory(n: number): SegmentDirectory {
    const [row] = this.#all<{ stamp: string; catalogVersion: string }>(sql`
      select
        group_concat(value) as stamp,
        max(iif(name = 'catalogue', value, '')) as catalogVersion
      from meta where name in ('catalogue', 'counter', 'segments')`)
    const { stamp, catalogVersion } = row ?? { stamp: '', catalogVersion: '' }
    if (catalogVersion !== this.#catalogVersion || this.#columns.isFull) {
      this.#columns.clear()
      this.#directories.clear()
      this.#catalogVersion = catalogVersion
    }
    const cached = this.#directories.get(n)
    if (cached?.stamp === stamp) return cached
    const directory = readDirectory(this.#all, n, stamp)
    this.#directories.set(n, directory)
    return directory
  }

  #toBatch(n: number, directory: SegmentDirectory, segment: Segment, after: number): Batch {
    const staleIds = staleIn(directory, segment)
    // A segment sealed between two slices may hold records that an earlier slice counted.
    const isWhole = staleIds.length === 0 && segment.first >= after
    if (!isWhole) this.#load(n, [arrivals], segment)
    const column = (field: number) => this.#columns.get(toKey(n, field, segment))
    return {
      length: segment.rows,
      excludedRows: isWhole ? [] : toExcludedRows(column(0) as Float64Array, staleIds, after),
      numbers: (field) => column(field) as Float64Array,
      texts: (field) => column(field) as Texts,
    }
  }

  /** The records of a range that no segment holds in their present state, read from the record table. */
  #toRowBatch(
    n: number,
    fields: readonly ColumnField[],
    directory: SegmentDirectory,
    range: Range,
    after: number,
  ): Batch {
    const { rowColumns } = directory
    const keyOf = (field: number) => `${field} ${range[0]}`
    const missingFields = [arrivals, ...fields].filter((field) => !rowColumns.has(keyOf(field.n)))
    if (missingFields.length > 0) {
      this.#columns.checkCapacity(n, missingFields)
      const columns = this.#readRowColumns(n, missingFields, directory, range)
      for (const [at, field] of missingFields.entries())
        rowColumns.set(keyOf(field.n), this.#columns.fromValues(n, field, columns[at] ?? []))
    }
    const ids = rowColumns.get(keyOf(0)) as Float64Array
    const from = countUpTo(ids, after)
    return {
      length: ids.length - from,
      excludedRows: [],
      numbers: (field) => (rowColumns.get(keyOf(field)) as Float64Array).subarray(from),
      texts: (field) => {
        const { codes, dictionary } = rowColumns.get(keyOf(field)) as Texts
        return { codes: codes.subarray(from), dictionary }
      },
    }
  }

  #readRowColumns(
    n: number,
    fields: readonly ColumnField[],
    { lastSealedId }: SegmentDirectory,
    range: Range,
  ) {
    const [first, last] = range
    const inRange = sql`id > ${first} and id <= ${last}`
    const filter =
      first < lastSealedId ? sql`id in (select id from ${staleTable(n)} where ${inRange})` : inRange
    return readColumns(this.#all, n, fields, sql`${filter} order by id`)
  }

  /** Loads the columns that are not cached; returns whether there were any. */
  #load(n: number, fields: readonly ColumnField[], segment: Segment): boolean {
    const missingFields = fields.filter((field) => !this.#columns.has(toKey(n, field.n, segment)))
    this.#columns.checkCapacity(n, missingFields)
    for (const field of missingFields) {
      const [row] = this.#all<{ data: Uint8Array | ArrayBuffer }>(sql`
        select data from ${columnTable(n)}
        where field = ${field.n} and segment = ${segment.last}`)
      if (!row) throw new ColumnUnavailable()
      const column = this.#columns.decode(n, field, toBuffer(row.data))
      this.#columns.set(toKey(n, field.n, segment), column)
    }
    return missingFields.length > 0
  }
}

/** Record ids after the first and up to the second. */
type Range = readonly [number, number]

const toKey = (n: number, field: number, { last, version }: Segment): string =>
  `${n} ${field} ${last} ${version}`

/** Rows that an earlier slice counted, or that are stale. */
function toExcludedRows(
  ids: Float64Array,
  staleIds: Float64Array,
  after: number,
): readonly number[] {
  const staleSet = new Set(staleIds)
  const rows: number[] = []
  ids.forEach((id, row) => {
    if (id <= after || staleSet.has(id)) rows.push(row)
  })
  return rows
}
