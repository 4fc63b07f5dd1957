import type { GrantPackage, StoredToken } from '../../sources/records/model/grant.ts'
import type { Scope } from '../../sources/records/model/scope.ts'
import type { RecordSource } from '../../sources/records/model/stream.ts'
import type {
  ArrivedRows,
  BlobBinding,
  CatalogView,
  ChangesQuery,
  ChangesSlice,
  Disclosure,
  LastUpdated,
  Matches,
  MatchQuery,
  RecordStore,
  Row,
  Slice,
  SliceQuery,
  StoredBlob,
  Tally,
  TallyQuery,
  TallySlice,
} from '../../sources/records/record-store.ts'
import type { Bytes } from '../sqlite/bytes.ts'
import { type All, sql } from '../sqlite/sql.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { AdaptiveBatch } from './adaptive-batch.ts'
import { BlobTable } from './blob-table.ts'
import { SegmentReader } from './columns/segment-reader.ts'
import { DisclosureLog } from './disclosure-log.ts'
import { GrantTables } from './grant-tables.ts'
import { defaultReadBounds, type ReadBounds } from './read-bounds.ts'
import { RecordCatalog } from './record-catalog.ts'
import { prepareRecords } from './record-schema.ts'
import { lookUpLastUpdated, scanLastUpdated } from './rows/last-updated.ts'
import { fillLongBodies } from './rows/long-bodies.ts'
import { bodyOrLength, readRows } from './rows/packed-rows.ts'
import { readBody } from './rows/read-body.ts'
import { readChangesSlice } from './rows/record-changes.ts'
import { lookUpSlice, matchesWholeScan, scanSlice } from './rows/record-slices.ts'
import { hasFewKeys, toWhere } from './rows/record-sql.ts'
import { findEndOfSpan, tallyRows } from './rows/row-tallies.ts'
import { recordTable } from './table-names.ts'
import { isUnrestricted, matchKeys, matchWords } from './words/word-matches.ts'

interface StoredRow {
  readonly id: number
  readonly key: string
  readonly at: string
  readonly body: Bytes
}

/** Sources and grants, valid for one `data_version` of the file. */
interface CatalogState {
  readonly version: number | undefined
  readonly sources: readonly RecordSource[]
  readonly packages: Map<string, GrantPackage>
}

/** The read side of a record store. Its connection is read-only; the disclosure log has one of its own. */
export class SqliteRecords implements RecordStore {
  readonly key: Uint8Array
  readonly #database: Sqlite
  readonly #catalog: RecordCatalog
  readonly #grants: GrantTables
  readonly #blobs: BlobTable
  readonly #log: DisclosureLog
  readonly #all: All = ({ text, values }) => this.#database.prepare<never>(text).all(...values)
  readonly #segments = new SegmentReader(this.#all)
  readonly #bounds: ReadBounds
  readonly #batch: AdaptiveBatch
  #state?: CatalogState

  constructor(
    file: string,
    now: () => number,
    onError: (error: unknown) => void,
    bounds = defaultReadBounds,
  ) {
    this.#bounds = bounds
    this.#batch = new AdaptiveBatch(now)
    const writer = openSqlite(file)
    prepareRecords(writer, file)
    this.#log = new DisclosureLog(writer, now, onError)
    this.#database = openSqlite(file)
    this.#database.exec('pragma busy_timeout = 5000')
    this.#database.exec('pragma cache_size = -65536')
    this.#database.exec('pragma query_only = 1')
    this.#catalog = new RecordCatalog(this.#database)
    this.#grants = new GrantTables(this.#database)
    this.#blobs = new BlobTable(this.#database)
    const key = this.#database
      .prepare<{ value: string }>(`select value from meta where name = 'key'`)
      .get()
    this.key = Buffer.from(key?.value ?? '', 'hex')
  }

  sources(): readonly RecordSource[] {
    return this.#readState().sources
  }

  findToken(token: string): StoredToken | undefined {
    return this.#grants.findToken(token)
  }

  findPackage(packageId: string): GrantPackage | undefined {
    return this.view(packageId).package
  }

  view(packageId: string): CatalogView {
    const { packages, sources } = this.#readState()
    return { sources, package: packages.get(packageId) ?? this.#readPackage(packageId, packages) }
  }

  #readPackage(packageId: string, packages: CatalogState['packages']): GrantPackage | undefined {
    const grantPackage = this.#grants.find(packageId)
    if (grantPackage) packages.set(packageId, grantPackage)
    return grantPackage
  }

  /** Grants and sources, read again after any other connection has written to the file. */
  #readState(): CatalogState {
    const version = this.#database
      .prepare<{ data_version: number }>('pragma data_version')
      .get()?.data_version
    const cached = this.#state
    if (cached && cached.version === version) return cached
    const state = { version, sources: this.#catalog.sources, packages: new Map() }
    this.#state = state
    return state
  }

  lineage(seq: number): number | undefined {
    const [batch] = this.#all<{ mark: number }>(
      sql`select mark from lineage where seq >= ${seq} order by seq limit 1`,
    )
    return batch?.mark
  }

  bindings(blobId: string): readonly BlobBinding[] {
    return this.#blobs.bindings(blobId)
  }

  blob(id: string): StoredBlob | undefined {
    return this.#blobs.find(id)
  }

  slice(scope: Scope, query: SliceQuery): Slice {
    // A single statement needs no read transaction around it.
    if (matchesWholeScan(scope, query))
      return scanSlice(this.#all, scope, query, this.#bounds, query.limit)
    return this.#inSnapshot(() => {
      if (hasFewKeys(scope, this.#bounds)) return lookUpSlice(this.#all, scope, query, this.#bounds)
      return this.#batch.run(scope.source.n, this.#bounds.maxScannedRows, (maxRows) =>
        scanSlice(this.#all, scope, query, this.#bounds, maxRows),
      )
    })
  }

  find({ keys, ...scope }: Scope, key: string): Row | undefined {
    if (keys && !keys.includes(key)) return undefined
    const [row] = this.#all<StoredRow>(sql`
      select id, key, at, cast(body as blob) as body from ${recordTable(scope.source.n)}
      where key = ${key} and ${toWhere(scope)}`)
    return row && toRow(row)
  }

  match(scope: Scope, query: MatchQuery): Matches {
    const { words, fields, conditions, limit } = query
    if (words.length === 0 || fields.length === 0) return { arrivals: [] }
    if (hasFewKeys(scope, this.#bounds)) return matchKeys(this.#all, scope, query)
    return this.#inSnapshot(() => {
      if (isUnrestricted(scope, conditions)) return matchWords(this.#all, scope, query, limit)
      return this.#batch.run(scope.source.n, this.#bounds.maxMatches, (maxRows) =>
        matchWords(this.#all, scope, query, maxRows),
      )
    })
  }

  byArrival(scope: Scope, arrivals: readonly number[]): ArrivedRows {
    const { maxInlineBodyBytes, maxLongBodyBytes } = this.#bounds
    const longRows = readRows(
      this.#all,
      sql`
        select id, key, at, ${bodyOrLength(maxInlineBodyBytes)} as body, null as sorted
        from ${recordTable(scope.source.n)}
        where id in (select value from json_each(${JSON.stringify(arrivals)}))
          and ${toWhere(scope)}`,
    )
    const { rows, inputCount } = fillLongBodies(this.#all, scope, longRows, maxLongBodyBytes)
    return { rows, remaining: longRows.slice(inputCount).map(({ arrival }) => arrival) }
  }

  changes(scope: Scope, query: ChangesQuery): ChangesSlice {
    return this.#inSnapshot(() => readChangesSlice(this.#all, scope, query, this.#bounds))
  }

  head(): number {
    const [counter] = this.#all<{ value: string }>(
      sql`select value from meta where name = 'counter'`,
    )
    return Number(counter?.value ?? 0)
  }

  tally(scope: Scope, query: TallyQuery): TallySlice {
    if (hasFewKeys(scope, this.#bounds)) return { tallies: this.tallyRows(scope, query, Infinity) }
    const fromColumns = this.#inSnapshot(() => this.#segments.tally(scope, query))
    if (fromColumns) return fromColumns
    const last = findEndOfSpan(this.#all, scope, query, this.#bounds)
    if (last === undefined) return { tallies: [] }
    return { tallies: this.tallyRows(scope, query, last), resume: last }
  }

  /** Counts row by row: for records that no segment holds, and for tests to compare with. */
  tallyRows(scope: Scope, query: TallyQuery, last: number): readonly Tally[] {
    const isScanned = !hasFewKeys(scope, this.#bounds)
    return tallyRows(this.#all, scope, query, { last, isScanned })
  }

  lastUpdated(scope: Scope, below: number): LastUpdated {
    return this.#inSnapshot(() =>
      this.#batch.run(scope.source.n, this.#bounds.maxScannedRows, (maxRows) =>
        hasFewKeys(scope, this.#bounds)
          ? lookUpLastUpdated(this.#all, scope, below)
          : scanLastUpdated(this.#all, scope, below, maxRows),
      ),
    )
  }

  /**
   * Runs several statements in one read transaction (snapshot isolation). Without it, a concurrent writer
   * could make them see different rows, and one row twice or not at all.
   */
  #inSnapshot<T>(work: () => T): T {
    this.#database.prepare('begin').run()
    try {
      return work()
    } finally {
      this.#database.prepare('commit').run()
    }
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
}

const toRow = ({ id, key, at, body }: StoredRow): Row => ({
  arrival: id,
  key,
  emittedAt: at,
  ...readBody(body),
})
