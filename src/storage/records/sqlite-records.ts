import type { GrantPackage, TokenKind } from '../../sources/records/grants/grant.ts'
import type { Scope } from '../../sources/records/grants/scope.ts'
import type { Field, RecordSource } from '../../sources/records/model/stream.ts'
import type {
  Arrived,
  CatalogView,
  ChangesQuery,
  ChangesSlice,
  Condition,
  Disclosure,
  KeptBlob,
  Matches,
  MatchQuery,
  PlacedRow,
  RecordStore,
  Row,
  Slice,
  SliceQuery,
  StoreBinding,
  Tally,
  TallyQuery,
  TallySlice,
  Updated,
} from '../../sources/records/record-store.ts'
import { type All, id, join, type Sql, sql } from '../sqlite/sql.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { AdaptiveBatch } from './adaptive-batch.ts'
import { BlobTable } from './blob-table.ts'
import { SegmentReader } from './columns/segment-reader.ts'
import { DisclosureLog } from './disclosure-log.ts'
import { GrantTables } from './grant-tables.ts'
import { defaultReadBounds, type ReadBounds } from './read-bounds.ts'
import { RecordCatalog } from './record-catalog.ts'
import { prepareRecords } from './record-schema.ts'
import { fillLong } from './rows/long-bodies.ts'
import { bodyUpTo, type Long, type Packed, pack, unpack, unpackPlaced } from './rows/packed-rows.ts'
import { readChanges } from './rows/record-changes.ts'
import {
  hasFewKeys,
  inWindow,
  listColumns,
  toPick,
  toWalk,
  toWalkOfMissing,
  toWhere,
  type Walk,
} from './rows/record-sql.ts'
import { findEndOfSpan, tallyRows } from './rows/row-tallies.ts'
import { isUnlimited, matchKeys, matchWords } from './words/word-matches.ts'

interface StoredRow {
  readonly id: number
  readonly key: string
  readonly at: string
  readonly body: string
  readonly sorted: string | number | null
}

interface Fresh {
  readonly version: number | undefined
  readonly sources: readonly RecordSource[]
  readonly packages: Map<string, GrantPackage>
}

/** Reads of a store of records. Its connection cannot write; only what was read is noted elsewhere. */
export class SqliteRecords implements RecordStore {
  readonly key: Uint8Array
  readonly #database: Sqlite
  readonly #catalogue: RecordCatalog
  readonly #grants: GrantTables
  readonly #blobs: BlobTable
  readonly #log: DisclosureLog
  readonly #segments = new SegmentReader((query) => this.#all(query))
  readonly #bounds: ReadBounds
  readonly #pace: AdaptiveBatch
  #known?: Fresh

  constructor(
    file: string,
    now: () => number,
    onError: (error: unknown) => void,
    bounds = defaultReadBounds,
  ) {
    this.#bounds = bounds
    this.#pace = new AdaptiveBatch(now)
    const writer = openSqlite(file)
    prepareRecords(writer, file)
    this.#log = new DisclosureLog(writer, now, onError)
    this.#database = openSqlite(file)
    this.#database.exec('pragma busy_timeout = 5000')
    this.#database.exec('pragma cache_size = -65536')
    this.#database.exec('pragma query_only = 1')
    this.#catalogue = new RecordCatalog(this.#database)
    this.#grants = new GrantTables(this.#database)
    this.#blobs = new BlobTable(this.#database)
    const key = this.#database
      .prepare<{ value: string }>(`select value from meta where name = 'key'`)
      .get()
    this.key = Buffer.from(key?.value ?? '', 'hex')
  }

  sources(): readonly RecordSource[] {
    return this.#fresh().sources
  }

  findToken(token: string): TokenKind | undefined {
    return this.#grants.findToken(token)
  }

  findPackage(package_: string): GrantPackage | undefined {
    return this.view(package_).given
  }

  view(package_: string): CatalogView {
    const { packages, sources } = this.#fresh()
    const given = packages.get(package_) ?? this.#readPackage(package_, packages)
    return { sources, ...(given && { given }) }
  }

  #readPackage(package_: string, packages: Fresh['packages']): GrantPackage | undefined {
    const found = this.#grants.find(package_)
    if (found) packages.set(package_, found)
    return found
  }

  /** Grants and the catalogue as they are: read again once anybody has written to the file. */
  #fresh(): Fresh {
    const version = this.#database
      .prepare<{ data_version: number }>('pragma data_version')
      .get()?.data_version
    const known = this.#known
    if (known && known.version === version) return known
    const fresh = { version, sources: this.#catalogue.sources, packages: new Map() }
    this.#known = fresh
    return fresh
  }

  lineage(seq: number): number | undefined {
    const [batch] = this.#all<{ mark: number }>(
      sql`select mark from lineage where seq >= ${seq} order by seq limit 1`,
    )
    return batch?.mark
  }

  bindings(blob: string): readonly StoreBinding[] {
    return this.#blobs.bindings(blob)
  }

  blob(blob: string): KeptBlob | undefined {
    return this.#blobs.find(blob)
  }

  slice(scope: Scope, query: SliceQuery): Slice {
    // One statement, and so one moment anyway.
    if (fitsWhole(scope, query)) return this.#sliceOf(scope, query, query.limit)
    return this.#atOnce(() => {
      if (hasFewKeys(scope, this.#bounds)) return this.#sliceOfKeys(scope, query)
      const { walked } = this.#bounds
      return this.#pace.take(scope.source.n, walked, (rows) => this.#sliceOf(scope, query, rows))
    })
  }

  #sliceOf(scope: Scope, query: SliceQuery, rows: number): Slice {
    const { sort, descending, after, conditions, limit } = query
    const { body } = this.#bounds
    const walkOn = isAmongMissing(query) ? toWalkOfMissing : toWalk
    const isWhole = fitsWhole(scope, query)
    const pinned = toPinned(sort, conditions)
    const table = id('r', scope.source.n)
    const walk: Walk = {
      table,
      ...(sort && { column: id('f', sort.n) }),
      descending,
      ...(after && { after }),
      within: [...(sort && scope.window?.field === sort ? inWindow(scope.window) : []), ...pinned],
      rows,
      columns: isWhole ? [sql`${bodyUpTo(body)} as body`] : listColumns(scope, conditions),
    }
    const packed = this.#one<Packed>(
      pack(
        isWhole
          ? walkOn(walk)
          : sql`select id, key, at, (select ${bodyUpTo(body)} from ${table} where ${table}.id = walk.id) as body, sorted from (${walkOn(walk)}) as walk where ${toWhere(scope, conditions)} limit ${limit}`,
      ),
    )
    const found = unpackPlaced(packed, sort)
    const filled = this.#fill(scope, found)
    const { isCut, last } = filled
    if (last && (isCut || found.length === limit)) return { rows: filled.rows, resume: last }
    const end = isWhole ? undefined : this.#endOf(walkOn, walk)
    if (end) return { rows: filled.rows, resume: { value: end.sorted, key: end.key } }
    // After all that have a value come those that have none.
    return sort && walkOn === toWalk && pinned.length === 0
      ? { rows: filled.rows, resume: { value: null, key: null } }
      : { rows: filled.rows }
  }

  /** Where the records are named, each is looked up: how many others there are must not show. */
  #sliceOfKeys(scope: Scope, query: SliceQuery): Slice {
    const { sort, descending, after, conditions, limit } = query
    const table = id('r', scope.source.n)
    const column = sort && id('f', sort.n)
    const pick = toPick(
      { table, ...(column && { column }), descending, ...(after && { after }), rows: limit },
      toWhere(scope, conditions),
    )
    const packed = this.#one<Packed>(
      pack(
        sql`select id, key, at, ${bodyUpTo(this.#bounds.body)} as body, sorted from (${pick}) cross join ${table} using (id)`,
      ),
    )
    const found = unpackPlaced(packed, sort)
    const { rows, isCut, last } = this.#fill(scope, found)
    return last && (isCut || found.length === limit) ? { rows, resume: last } : { rows }
  }

  #fill(scope: Scope, found: readonly Long<PlacedRow>[]) {
    const { bodies } = this.#bounds
    const { rows, done } = fillLong<PlacedRow>((one) => this.#all(one), scope, found, bodies)
    return { rows, isCut: done < found.length, last: found[done - 1]?.position }
  }

  #endOf(walkOn: (walk: Walk) => Sql, walk: Walk): StoredRow | undefined {
    const [end] = this.#all<StoredRow>(
      sql`select key, sorted from (${walkOn({ ...walk, columns: [] })}) limit 1 offset ${walk.rows - 1}`,
    )
    return end
  }

  find({ keys, ...scope }: Scope, key: string): Row | undefined {
    if (keys && !keys.includes(key)) return undefined
    const [row] = this.#all<StoredRow>(
      sql`select id, key, at, body from ${id('r', scope.source.n)} where key = ${key} and ${toWhere(scope)}`,
    )
    return row && toRow(row)
  }

  match(scope: Scope, query: MatchQuery): Matches {
    const { words, fields, conditions, limit } = query
    if (words.length === 0 || fields.length === 0) return { arrivals: [] }
    const all: All = (one) => this.#all(one)
    if (hasFewKeys(scope, this.#bounds)) return matchKeys(all, scope, query)
    return this.#atOnce(() => {
      if (isUnlimited(scope, conditions)) return matchWords(all, scope, query, limit)
      const { matched } = this.#bounds
      return this.#pace.take(scope.source.n, matched, (rows) => matchWords(all, scope, query, rows))
    })
  }

  byArrival(scope: Scope, arrivals: readonly number[]): Arrived {
    const { body, bodies } = this.#bounds
    const packed = this.#one<Packed>(
      pack(
        sql`select id, key, at, ${bodyUpTo(body)} as body, null as sorted from ${id('r', scope.source.n)} where id in (select value from json_each(${JSON.stringify(arrivals)})) and ${toWhere(scope)}`,
      ),
    )
    const found = unpack(packed)
    const { rows, done } = fillLong<Row>((one) => this.#all(one), scope, found, bodies)
    return { rows, left: found.slice(done).map(({ arrival }) => arrival) }
  }

  changes(scope: Scope, query: ChangesQuery): ChangesSlice {
    return this.#atOnce(() => readChanges((one) => this.#all(one), scope, query, this.#bounds))
  }

  head(): number {
    const [counter] = this.#all<{ value: string }>(
      sql`select value from meta where name = 'counter'`,
    )
    return Number(counter?.value ?? 0)
  }

  tally(scope: Scope, query: TallyQuery): TallySlice {
    if (hasFewKeys(scope, this.#bounds)) return { tallies: this.tallyRows(scope, query, Infinity) }
    const counted = this.#atOnce(() => this.#segments.tally(scope, query))
    if (counted) return counted
    const last = findEndOfSpan((one) => this.#all(one), scope, query, this.#bounds)
    if (last === undefined) return { tallies: [] }
    return { tallies: this.tallyRows(scope, query, last), resume: last }
  }

  /** Row by row: for what no segment holds, and to compare with. */
  tallyRows(scope: Scope, query: TallyQuery, last: number): readonly Tally[] {
    return tallyRows((one) => this.#all(one), scope, query, {
      last,
      isWalked: !hasFewKeys(scope, this.#bounds),
    })
  }

  /**
   * Several statements on the file as it is at one moment: who writes meanwhile, on another thread or in
   * another process, would have them look at different rows, and some be met twice or never.
   */
  #atOnce<T>(work: () => T): T {
    this.#database.prepare('begin').run()
    try {
      return work()
    } finally {
      this.#database.prepare('commit').run()
    }
  }

  lastUpdated(scope: Scope, below: number): Updated {
    const { walked } = this.#bounds
    return this.#atOnce(() =>
      this.#pace.take(scope.source.n, walked, (rows) => this.#updatedOf(scope, below, rows)),
    )
  }

  #updatedOf(scope: Scope, below: number, most: number): Updated {
    const table = id('r', scope.source.n)
    if (hasFewKeys(scope, this.#bounds)) {
      const [row] = this.#all<{ at: string }>(
        sql`select at from ${table} where ${toWhere(scope)} and +seq < ${below} order by seq desc limit 1`,
      )
      return row ?? {}
    }
    const columns = [sql`seq`, sql`key`, sql`at`, ...listColumns(scope, [])]
    const walk = sql`select ${join(columns, ', ')} from ${table} where seq < ${below} order by seq desc limit ${most}`
    const [row] = this.#all<{ at: string }>(
      sql`select at from (${walk}) where ${toWhere(scope)} limit 1`,
    )
    if (row) return row
    const [end] = this.#all<{ resume: number }>(
      sql`select seq as resume from (${walk}) limit 1 offset ${most - 1}`,
    )
    return end ?? {}
  }

  get canDisclose(): boolean {
    return !this.#log.isFull
  }

  disclose(disclosure: Disclosure): void {
    this.#log.add(disclosure)
  }

  close(): void {
    this.#log.close()
    this.#database.close()
  }

  #one<Row>({ text, values }: Sql): Row | undefined {
    return this.#database.prepare<Row>(text).get(...values)
  }

  #all<Row>({ text, values }: Sql): Row[] {
    return this.#database.prepare<Row>(text).all(...values)
  }
}

const isAmongMissing = ({ sort, after }: SliceQuery): boolean =>
  sort !== undefined && after?.value === null

/** Whether all rows of a walk will fit. A range on what is sorted by is where it begins and ends. */
const fitsWhole = ({ window, keys }: Scope, query: SliceQuery): boolean =>
  (!window || (window.field === query.sort && !isAmongMissing(query))) &&
  !keys &&
  query.conditions.length === 0

/** Where only one value of what is sorted by is asked for, the walk is among those alone. */
const toPinned = (sort: Field | undefined, conditions: readonly Condition[]): readonly Sql[] =>
  conditions.flatMap(({ field, operator, value }) =>
    field === sort && operator === 'eq' ? [sql`${id('f', field.n)} = ${value}`] : [],
  )

const toRow = ({ id, key, at, body }: StoredRow): Row => ({ arrival: id, key, emittedAt: at, body })
