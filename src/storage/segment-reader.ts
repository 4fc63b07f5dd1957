import type { Tally, TallyQuery } from '../sources/records/record-store.ts'
import type { Scope } from '../sources/records/scope.ts'
import { segmentLength } from './column.ts'
import { ColumnCache, type Loaded, NoColumn } from './column-cache.ts'
import { type Batch, createScan, type Texts } from './column-scan.ts'
import { arrivals, type ColumnField, readColumns } from './packed-columns.ts'
import { isColumn, toBuffer } from './segment-writer.ts'
import { id, type Sql, sql } from './sql.ts'

type All = <Row>(query: Sql) => Row[]

/** Segments that are looked at before others have a turn. */
const spanLength = 16
/** Records behind the last segment, above which it is better to ask for them in spans. */
const longestTail = 2 * segmentLength

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
  /** What lies behind the segments, and what stale records are now. */
  readonly loose: Map<number, Loaded>
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

  /** Where the next span ends that can be counted at once; `undefined` for what has no columns. */
  span(scope: Scope, after: number): number | undefined {
    const { segments, sealed, end } = this.#directory(scope.source.n)
    if (after >= sealed) return end !== undefined && end > after ? end : undefined
    const first = segments.findIndex(({ last }) => last > after)
    return segments[Math.min(first + spanLength, segments.length) - 1]?.last
  }

  /** Of one moment of the file; `undefined` where columns are not enough. */
  tally(scope: Scope, { span: [after, last], ...query }: TallyQuery): readonly Tally[] | undefined {
    const { source, window, keys } = scope
    if (keys) return undefined
    if (window && (window.field.n === 0 || !(window.from < window.to))) return []
    const asked = [...query.conditions.map(({ field }) => field), query.field, query.group?.field]
    const fields = asked.filter((field) => field !== undefined)
    if (!fields.every((field) => isColumn(source.stream, field))) return undefined
    if (query.field?.type === 'string' && !query.distinct) return undefined
    this.#columns.makeRoom()
    const directory = this.#directory(source.n)
    if (last > (directory.end ?? directory.sealed)) return undefined
    const scan = createScan(scope, query)
    try {
      const segments = directory.segments.filter((one) => one.last > after && one.first < last)
      const needed = [...new Set([...fields, ...(window ? [window.field] : [])])]
      this.#load(source.n, needed, segments)
      for (const segment of segments)
        scan.add(this.#toBatch(source.n, directory, segment, after, last))
      const loose = this.#toLooseBatch(source.n, needed, directory, after, last)
      if (loose.length > 0) scan.add(loose)
      return scan.result()
    } catch (error) {
      if (error instanceof NoColumn) return undefined
      throw error
    }
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
    const [tail] = this.#all<{ end: number | null; count: number }>(
      sql`select max(id) as end, count(*) as count from (select id from ${id('r', n)} where id > ${sealed} order by id limit ${longestTail + 1})`,
    )
    return {
      stamp,
      segments,
      sealed,
      stale: Float64Array.from(JSON.parse(stale?.ids ?? '[]') as number[]),
      end: tail && tail.count <= longestTail ? (tail.end ?? sealed) : undefined,
      loose: new Map(),
    }
  }

  #toBatch(n: number, { stale }: Directory, segment: Segment, after: number, last: number): Batch {
    const gone = stale.subarray(countUpTo(stale, segment.first), countUpTo(stale, segment.last))
    // A segment may have been sealed since the span was chosen, and reach beyond it.
    const isWhole = gone.length === 0 && segment.first >= after && segment.last <= last
    if (!isWhole) this.#load(n, [arrivals], [segment])
    const column = (field: number) => this.#columns.get(toKey(n, field, segment))
    return {
      length: segment.rows,
      stale: isWhole ? [] : toStale(column(0) as Float64Array, gone, after, last),
      numbers: (field) => column(field) as Float64Array,
      texts: (field) => column(field) as Texts,
    }
  }

  #toLooseBatch(
    n: number,
    needed: readonly ColumnField[],
    directory: Directory,
    after: number,
    last: number,
  ): Batch {
    const { loose } = directory
    const missing = [arrivals, ...needed].filter((field) => !loose.has(field.n))
    if (missing.length > 0) this.#loadLoose(n, missing, directory)
    const ids = loose.get(0) as Float64Array
    const [from, to] = [countUpTo(ids, after), countUpTo(ids, last)]
    return {
      length: to - from,
      stale: [],
      numbers: (field) => (loose.get(field) as Float64Array).subarray(from, to),
      texts: (field) => {
        const { codes, dictionary } = loose.get(field) as Texts
        return { codes: codes.subarray(from, to), dictionary }
      },
    }
  }

  #loadLoose(n: number, fields: readonly ColumnField[], { sealed, end, loose }: Directory): void {
    const columns = readColumns(
      this.#all,
      n,
      fields,
      sql`(id > ${sealed} and id <= ${end ?? sealed}) or id in (select id from ${id('x', n)}) order by id`,
    )
    for (const [at, field] of fields.entries())
      loose.set(field.n, this.#columns.fromValues(n, field, columns[at] ?? []))
  }

  /** Reads what is not known yet, one statement for each field. */
  #load(n: number, fields: readonly ColumnField[], segments: readonly Segment[]): void {
    for (const field of fields) {
      const missing = segments.filter((one) => !this.#columns.has(toKey(n, field.n, one)))
      const [first, last] = [missing[0], missing.at(-1)]
      if (!first || !last) continue
      const byLast = new Map(missing.map((one) => [one.last, one]))
      const found = this.#all<{ segment: number; data: Uint8Array | ArrayBuffer }>(
        sql`select segment, data from ${id('c', n)} where field = ${field.n} and segment >= ${first.last} and segment <= ${last.last}`,
      )
      for (const { segment, data } of found) {
        const known = byLast.get(segment)
        if (!known) continue
        const column = this.#columns.decode(n, field, toBuffer(data))
        this.#columns.keep(toKey(n, field.n, known), column)
      }
    }
  }
}

const toKey = (n: number, field: number, { last, version }: Segment): string =>
  `${n} ${field} ${last} ${version}`

/** Places of records that are outside of a span, or something else by now. */
function toStale(
  ids: Float64Array,
  gone: Float64Array,
  after: number,
  last: number,
): readonly number[] {
  const isGone = new Set(gone)
  const places: number[] = []
  ids.forEach((record, place) => {
    if (record <= after || record > last || isGone.has(record)) places.push(place)
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
