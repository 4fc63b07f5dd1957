import type { GrantPackage, OwnerToken, StoredToken } from '../../../sources/records/model/grant.ts'
import type { Connection, RecordSource, Stream } from '../../../sources/records/model/stream.ts'
import type {
  ImportProgress,
  RecordEntry,
  WrittenBatch,
} from '../../../sources/records/record-sink.ts'
import type { BlobBinding, StoredBlob } from '../../../sources/records/record-store.ts'
import { type Bytes, toText } from '../../sqlite/bytes.ts'
import { openSqlite, type Sqlite } from '../../sqlite/sqlite.ts'
import { BlobTable } from '../blob-table.ts'
import { SegmentWriter } from '../columns/segment-writer.ts'
import { DisclosureLog, type DisclosureRecord } from '../disclosure-log.ts'
import { GrantTables } from '../grant-tables.ts'
import { RecordCatalog } from '../record-catalog.ts'
import { prepareRecords } from '../record-schema.ts'
import { recordTable } from '../table-names.ts'
import { findSource, StreamDeclarations } from './declare-streams.ts'
import { fitEntries, toLayout } from './fit-entries.ts'
import { BatchWriter } from './write-batch.ts'

const exportPage = 500

/** The owner's side of a record store: everything that writes. */
export class RecordWriter {
  readonly #database: Sqlite
  readonly #catalog: RecordCatalog
  readonly #grants: GrantTables
  readonly #log: DisclosureLog
  readonly #declarations: StreamDeclarations
  readonly #batches: BatchWriter

  constructor(file: string, now: () => number) {
    this.#database = openSqlite(file)
    prepareRecords(this.#database, file)
    // Durability: an acknowledged write survives a power failure.
    this.#database.exec('pragma synchronous = full')
    this.#catalog = new RecordCatalog(this.#database)
    this.#grants = new GrantTables(this.#database)
    const segments = new SegmentWriter(this.#database)
    this.#declarations = new StreamDeclarations(this.#database, segments)
    this.#batches = new BatchWriter(this.#database, segments)
    this.#log = new DisclosureLog(this.#database, now, () => {})
  }

  get sources(): readonly RecordSource[] {
    return this.#catalog.sources
  }

  get streams(): readonly Stream[] {
    return this.#catalog.streams()
  }

  get packages(): readonly GrantPackage[] {
    return this.#grants.list()
  }

  /** Declares a stream. If its declaration changed, its sources are rebuilt to fit. */
  declare(stream: Stream): void {
    this.#commit(() => this.#declarations.declare(stream))
  }

  /** The source of a declared stream and a connection, with the stream as the file declares it. */
  open(stream: Stream, connection: Connection): RecordSource {
    return (
      findSource(this, stream, connection) ??
      this.#commit(() => this.#declarations.connect(stream, connection))
    )
  }

  /** The source with its present declaration. */
  find(n: number): RecordSource {
    const source = this.sources.find((candidate) => candidate.n === n)
    if (!source) throw new Error(`Unknown source ${n}.`)
    return source
  }

  /** One transaction: the whole batch and the progress of its file, or neither. */
  write(
    { n, stream }: RecordSource,
    entries: readonly RecordEntry[],
    progress?: ImportProgress,
  ): WrittenBatch {
    return this.#commit(() => {
      // Another process may have redeclared the stream before this transaction began.
      const source = this.find(n)
      const counts = this.#batches.write(
        source,
        fitEntries(entries, toLayout(stream), source.stream),
      )
      if (progress)
        this.#database
          .prepare(
            `insert into imports (source, file, lines) values (?, ?, ?)
             on conflict do update set lines = excluded.lines`,
          )
          .run(source.n, progress.file, progress.lines)
      return counts
    })
  }

  /** The number of lines of a file that are imported already. */
  importedLines(source: RecordSource, file: string): number {
    return (
      this.#database
        .prepare<{ lines: number }>('select lines from imports where source = ? and file = ?')
        .get(source.n, file)?.lines ?? 0
    )
  }

  hasRecord({ n }: RecordSource, key: string): boolean {
    const row = this.#database.prepare(`select 1 from ${recordTable(n)} where key = ?`).get(key)
    return row !== undefined
  }

  count({ n }: RecordSource): number {
    const row = this.#database
      .prepare<{ count: number }>(`select count(*) as count from ${recordTable(n)}`)
      .get()
    return row?.count ?? 0
  }

  /** Every record of a source in order of arrival (keyset pagination). */
  *export({ n }: RecordSource): Generator<{ key: string; at: string; body: string }> {
    for (let after = 0; ; ) {
      const rows = this.#database
        .prepare<{ id: number; key: Bytes; at: Bytes; body: Bytes }>(
          `select cast(id as integer) as id, cast(key as blob) as key, cast(at as blob) as at,
             cast(body as blob) as body
           from ${recordTable(n)} where id > ? order by id limit ${exportPage}`,
        )
        .all(after)
      for (const { key, at, body } of rows)
        yield { key: toText(key), at: toText(at), body: toText(body) }
      after = rows.at(-1)?.id ?? after
      if (rows.length < exportPage) return
    }
  }

  storeBlob(blob: StoredBlob, binding: BlobBinding): void {
    this.#commit(() => new BlobTable(this.#database).put(blob, binding))
  }

  grant(grantPackage: GrantPackage, token: string): void {
    this.#commit(() => this.#grants.add(grantPackage, token))
  }

  /** Stores another token of a package; `false` for a `single_use` package that had its token already. */
  issue(id: string, token: string, at: number): boolean {
    return this.#commit(() => this.#grants.issue(id, token, at))
  }

  get owners(): readonly OwnerToken[] {
    return this.#grants.owners()
  }

  addOwner(owner: OwnerToken, token: string): void {
    this.#commit(() => this.#grants.addOwner(owner, token))
  }

  findToken(token: string): StoredToken | undefined {
    return this.#grants.findToken(token)
  }

  revoke(id: string, at: number): boolean {
    return this.#commit(() => this.#grants.revoke(id, at))
  }

  listDisclosures(packageId: string): {
    readonly records: readonly DisclosureRecord[]
    readonly broken?: number
  } {
    return this.#log.read(packageId)
  }

  close(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Another process holds the lock; the last one to close checkpoints.
    }
    this.#database.close()
  }

  #commit<T>(work: () => T): T {
    this.#database.exec('begin immediate')
    try {
      const result = work()
      this.#database.exec('commit')
      return result
    } catch (error) {
      try {
        this.#database.exec('rollback')
      } catch {
        // SQLite has rolled back already.
      }
      throw error
    }
  }
}
