import type { Scope } from '../../../sources/records/grants/scope.ts'
import type { TallyQuery, TallySlice } from '../../../sources/records/record-store.ts'
import { type All, id, sql } from '../../sqlite/sql.ts'
import { segmentLength } from './column.ts'
import { ColumnCache, type LoadedColumn, NoColumn } from './column-cache.ts'
import { type Batch, createScan, type Scan, type Texts } from './column-scan.ts'
import { arrivals, type ColumnField, readColumns } from './packed-columns.ts'
import { isColumn, toBuffer } from './segment-writer.ts'

/** Segments that are looked at before others have a turn. */
const segmentsAtOnce = 32
/** What it costs to read one first, in segments that are known already. */
const readingOne = 12
/** Groups after which others have a turn: each is made into something of its own. */
const groupsAtOnce = segmentLength
/** Records behind the last segment, and their bytes, above which they are counted row by row. */
const longestTail = segmentLength
const largestTail = 4 * 1024 * 1024

interface Segment {
  /** It holds those after the first and up to the last. */
  readonly first: number
  readonly last: number
  readonly rows: number
  readonly version: number
}

interface Directory {
  readonly stamp: string
  readonly segments: readonly Segment[]
  readonly sealed: number
  /** In order; records of segments that are something else by now. */
  readonly stale: Float64Array
  /** The last record behind the segments; `undefined` where there are too many to look at at once. */
  readonly end: number | undefined
  /** What lies behind the segments, and what stale records of each are now. */
  readonly loose: Map<string, LoadedColumn>
}

/** Counts from columns where they hold all that is asked; says so where they do not. */
export class SegmentReader {
  readonly #all: All
  readonly #directories = new Map<number, Directory>()
  readonly #columns = new ColumnCache()
  #catalogue = ''

  constructor(all: All) {
    this.#all = all
  }

  /** Of one moment of the file; `undefined` where columns are not enough. */
  tally(scope: Scope, { after, ...query }: TallyQuery): TallySlice | undefined {
    const { source, window, keys } = scope
    if (keys) return undefined
    if (window && (window.field.n === 0 || !(window.from < window.to))) return { tallies: [] }
    const asked = [...query.conditions.map(({ field }) => field), query.field, query.group?.field]
    const fields = asked.filter((field) => field !== undefined)
    if (!fields.every((field) => isColumn(source.stream, field))) return undefined
    if (query.field?.type === 'string' && !query.distinct) return undefined
    this.#columns.makeRoom()
    const directory = this.#directory(source.n)
    const needed = [...new Set([...fields, ...(window ? [window.field] : [])])]
    const scan = createScan(scope, query)
    try {
      const last =
        after < directory.sealed
          ? this.#addSegments(source.n, needed, directory, after, scan)
          : this.#addTail(source.n, needed, directory, after, scan)
      if (last === undefined) return undefined
      return { tallies: scan.result(), ...(last > after && { resume: last }) }
    } catch (error) {
      if (error instanceof NoColumn) return undefined
      throw error
    }
  }

  /** As many as one turn may look at; the last record of them. */
  #addSegments(
    n: number,
    needed: readonly ColumnField[],
    directory: Directory,
    after: number,
    scan: Scan,
  ): number {
    const { segments } = directory
    let last = after
    let work = 0
    for (let at = segments.findIndex((one) => one.last > after); at < segments.length; at++) {
      const segment = segments[at] as Segment
      const batches = this.#readSegment(n, needed, directory, segment, after)
      // What comes before one that has no columns is counted; that one itself is for another turn.
      if (!batches && last > after) break
      if (!batches) throw new NoColumn()
      for (const batch of batches.all) scan.add(batch)
      last = segment.last
      work += batches.work
      if (work >= segmentsAtOnce || scan.groups() >= groupsAtOnce) break
    }
    return last
  }

  /** A segment, and what its stale records are now. */
  #readSegment(
    n: number,
    needed: readonly ColumnField[],
    directory: Directory,
    segment: Segment,
    after: number,
  ): { readonly all: readonly Batch[]; readonly work: number } | undefined {
    try {
      const isNew = this.#load(n, needed, segment)
      const whole = this.#toBatch(n, directory, segment, after)
      if (this.#goneOf(directory, segment).length === 0)
        return { all: [whole], work: isNew ? readingOne : 1 }
      const range = [segment.first, segment.last] as const
      const loose = this.#toLooseBatch(n, needed, directory, range, after)
      return { all: [whole, loose], work: (isNew ? readingOne : 1) + readingOne }
    } catch (error) {
      if (error instanceof NoColumn) return undefined
      throw error
    }
  }

  /** What lies behind all segments, unless that is too much. */
  #addTail(
    n: number,
    needed: readonly ColumnField[],
    directory: Directory,
    after: number,
    scan: Scan,
  ): number | undefined {
    const { sealed, end } = directory
    if (end === undefined) return undefined
    if (end > after) scan.add(this.#toLooseBatch(n, needed, directory, [sealed, end], after))
    return end
  }

  #directory(n: number): Directory {
    const [row] = this.#all<{ stamp: string; catalogue: string }>(
      sql`select group_concat(value) as stamp, max(iif(name = 'catalogue', value, '')) as catalogue from meta where name in ('catalogue', 'counter', 'segments')`,
    )
    const { stamp, catalogue } = row ?? { stamp: '', catalogue: '' }
    if (catalogue !== this.#catalogue || this.#columns.isFull) {
      this.#columns.forget()
      this.#directories.clear()
      this.#catalogue = catalogue
    }
    const known = this.#directories.get(n)
    if (known?.stamp === stamp) return known
    const fresh = this.#readDirectory(n, stamp)
    this.#directories.set(n, fresh)
    return fresh
  }

  #readDirectory(n: number, stamp: string): Directory {
    const segments = this.#all<Segment>(
      sql`select lag(last, 1, 0) over (order by last) as first, last, rows, version from ${id('g', n)} order by last`,
    )
    const sealed = segments.at(-1)?.last ?? 0
    const [stale] = this.#all<{ ids: string }>(
      sql`select json_group_array(id) as ids from (select id from ${id('x', n)} order by id)`,
    )
    const [tail] = this.#all<{ end: number | null; count: number; size: number | null }>(
      sql`select max(id) as end, count(*) as count, sum(size) as size from (select id, octet_length(body) as size from ${id('r', n)} where id > ${sealed} order by id limit ${longestTail + 1})`,
    )
    const isShort = tail && tail.count <= longestTail && (tail.size ?? 0) <= largestTail
    return {
      stamp,
      segments,
      sealed,
      stale: Float64Array.from(JSON.parse(stale?.ids ?? '[]') as number[]),
      end: isShort ? (tail.end ?? sealed) : undefined,
      loose: new Map(),
    }
  }

  #goneOf({ stale }: Directory, { first, last }: Segment): Float64Array {
    return stale.subarray(countUpTo(stale, first), countUpTo(stale, last))
  }

  #toBatch(n: number, directory: Directory, segment: Segment, after: number): Batch {
    const gone = this.#goneOf(directory, segment)
    // A segment may have been sealed since others had their turn, and hold what was counted before.
    const isWhole = gone.length === 0 && segment.first >= after
    if (!isWhole) this.#load(n, [arrivals], segment)
    const column = (field: number) => this.#columns.get(toKey(n, field, segment))
    return {
      length: segment.rows,
      stale: isWhole ? [] : toStale(column(0) as Float64Array, gone, after),
      numbers: (field) => column(field) as Float64Array,
      texts: (field) => column(field) as Texts,
    }
  }

  /** Records of a range that are in no segment as they are now. */
  #toLooseBatch(
    n: number,
    needed: readonly ColumnField[],
    directory: Directory,
    range: Range,
    after: number,
  ): Batch {
    const { loose } = directory
    const nameOf = (field: number) => `${field} ${range[0]}`
    const missing = [arrivals, ...needed].filter((field) => !loose.has(nameOf(field.n)))
    if (missing.length > 0) {
      this.#columns.checkRoom(n, missing)
      const columns = this.#readLoose(n, missing, directory, range)
      for (const [at, field] of missing.entries())
        loose.set(nameOf(field.n), this.#columns.fromValues(n, field, columns[at] ?? []))
    }
    const ids = loose.get(nameOf(0)) as Float64Array
    const from = countUpTo(ids, after)
    return {
      length: ids.length - from,
      stale: [],
      numbers: (field) => (loose.get(nameOf(field)) as Float64Array).subarray(from),
      texts: (field) => {
        const { codes, dictionary } = loose.get(nameOf(field)) as Texts
        return { codes: codes.subarray(from), dictionary }
      },
    }
  }

  #readLoose(n: number, fields: readonly ColumnField[], { sealed }: Directory, range: Range) {
    const [first, last] = range
    const within = sql`id > ${first} and id <= ${last}`
    const which =
      first < sealed ? sql`id in (select id from ${id('x', n)} where ${within})` : within
    return readColumns(this.#all, n, fields, sql`${which} order by id`)
  }

  /** Reads what is not known yet; whether there was any. */
  #load(n: number, fields: readonly ColumnField[], segment: Segment): boolean {
    const missing = fields.filter((field) => !this.#columns.has(toKey(n, field.n, segment)))
    this.#columns.checkRoom(n, missing)
    for (const field of missing) {
      const [found] = this.#all<{ data: Uint8Array | ArrayBuffer }>(
        sql`select data from ${id('c', n)} where field = ${field.n} and segment = ${segment.last}`,
      )
      if (!found) throw new NoColumn()
      const column = this.#columns.decode(n, field, toBuffer(found.data))
      this.#columns.keep(toKey(n, field.n, segment), column)
    }
    return missing.length > 0
  }
}

/** Arrivals after the first and up to the second. */
type Range = readonly [number, number]

const toKey = (n: number, field: number, { last, version }: Segment): string =>
  `${n} ${field} ${last} ${version}`

/** Places of records that were counted before, or are something else by now. */
function toStale(ids: Float64Array, gone: Float64Array, after: number): readonly number[] {
  const isGone = new Set(gone)
  const places: number[] = []
  ids.forEach((record, place) => {
    if (record <= after || isGone.has(record)) places.push(place)
  })
  return places
}

function countUpTo(ids: Float64Array, most: number): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((ids[middle] as number) <= most) low = middle + 1
    else high = middle
  }
  return low
}
