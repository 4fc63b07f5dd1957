import type { GrantPackage, OwnerToken, TokenKind } from '../../../sources/records/grants/grant.ts'
import type { RecordEntry } from '../../../sources/records/import/to-entry.ts'
import type { Connection, RecordSource, Stream } from '../../../sources/records/model/stream.ts'
import type { KeptBlob, StoreBinding } from '../../../sources/records/record-store.ts'
import { openSqlite, type Sqlite } from '../../sqlite/sqlite.ts'
import { BlobTable } from '../blob-table.ts'
import { SegmentWriter } from '../columns/segment-writer.ts'
import { DisclosureLog, type DisclosureRecord } from '../disclosure-log.ts'
import { GrantTables } from '../grant-tables.ts'
import { RecordCatalog } from '../record-catalog.ts'
import { prepareRecords } from '../record-schema.ts'
import { findSource, StreamDeclarations } from './declare-streams.ts'
import { fitEntries, toLayout } from './fit-entries.ts'
import { BatchWriter, type WrittenBatch } from './write-batch.ts'

/** How far into a file a batch goes. */
export interface Place {
  /** Its digest: the same file again is the same place. */
  readonly file: string
  readonly lines: number
}

/** The owner's side of a store of records: everything that writes. */
export class RecordWriter {
  readonly #database: Sqlite
  readonly #catalogue: RecordCatalog
  readonly #grants: GrantTables
  readonly #log: DisclosureLog
  readonly #declarations: StreamDeclarations
  readonly #batches: BatchWriter

  constructor(file: string, now: () => number) {
    this.#database = openSqlite(file)
    prepareRecords(this.#database, file)
    // What an owner is told is done is done, also when the power fails.
    this.#database.exec('pragma synchronous = full')
    this.#catalogue = new RecordCatalog(this.#database)
    this.#grants = new GrantTables(this.#database)
    const segments = new SegmentWriter(this.#database)
    this.#declarations = new StreamDeclarations(this.#database, segments)
    this.#batches = new BatchWriter(this.#database, segments)
    this.#log = new DisclosureLog(this.#database, now, () => {})
  }

  get sources(): readonly RecordSource[] {
    return this.#catalogue.sources
  }

  get streams(): readonly Stream[] {
    return this.#catalogue.streams()
  }

  get packages(): readonly GrantPackage[] {
    return this.#grants.list()
  }

  /** Declares a stream, or declares it anew: then what is there is written again to fit. */
  declare(given: Stream): void {
    this.#commit(() => this.#declarations.declare(given))
  }

  /** The source of a declared stream and a connection, as the file has the stream. */
  open(stream: Stream, connection: Connection): RecordSource {
    return (
      findSource(this, stream, connection) ??
      this.#commit(() => this.#declarations.connect(stream, connection))
    )
  }

  /** As it is declared now. */
  find(n: number): RecordSource {
    const present = this.sources.find((one) => one.n === n)
    if (!present) throw new Error(`There is no source ${n}.`)
    return present
  }

  /** One transaction: all of a batch, and how far its file has come, or nothing of either. */
  write(given: RecordSource, made: readonly RecordEntry[], place?: Place): WrittenBatch {
    return this.#commit(() => {
      // It may have been declared anew while this waited for its turn.
      const source = this.find(given.n)
      const written = this.#batches.write(
        source,
        fitEntries(made, toLayout(given.stream), source.stream),
      )
      if (place)
        this.#database
          .prepare(
            `insert into imports (source, file, lines) values (?, ?, ?)
             on conflict do update set lines = excluded.lines`,
          )
          .run(source.n, place.file, place.lines)
      return written
    })
  }

  /** How many lines of a file are in the store already. */
  linesOf(source: RecordSource, file: string): number {
    return (
      this.#database
        .prepare<{ lines: number }>('select lines from imports where source = ? and file = ?')
        .get(source.n, file)?.lines ?? 0
    )
  }

  holds({ n }: RecordSource, key: string): boolean {
    return this.#database.prepare(`select 1 from r${n} where key = ?`).get(key) !== undefined
  }

  count({ n }: RecordSource): number {
    return (
      this.#database.prepare<{ count: number }>(`select count(*) as count from r${n}`).get()
        ?.count ?? 0
    )
  }

  /** Every record of a source in the order of its arrival, in pages. */
  *export({ n }: RecordSource): Generator<{ key: string; at: string; body: string }> {
    for (let after = 0; ; ) {
      const rows = this.#database
        .prepare<{ id: number; key: string; at: string; body: string }>(
          `select id, key, at, body from r${n} where id > ? order by id limit 500`,
        )
        .all(after)
      yield* rows
      after = rows.at(-1)?.id ?? after
      if (rows.length < 500) return
    }
  }

  keep(blob: KeptBlob, binding: StoreBinding): void {
    this.#commit(() => new BlobTable(this.#database).put(blob, binding))
  }

  grant(given: GrantPackage, token: string): void {
    this.#commit(() => this.#grants.add(given, token))
  }

  /** Another token of a grant; `false` where it was for a single use, and that was. */
  issue(id: string, token: string, at: number): boolean {
    return this.#commit(() => this.#grants.issue(id, token, at))
  }

  get owners(): readonly OwnerToken[] {
    return this.#grants.owners()
  }

  addOwner(owner: OwnerToken, token: string): void {
    this.#commit(() => this.#grants.addOwner(owner, token))
  }

  findToken(token: string): TokenKind | undefined {
    return this.#grants.findToken(token)
  }

  revoke(id: string, at: number): boolean {
    return this.#commit(() => this.#grants.revoke(id, at))
  }

  reads(package_: string): {
    readonly records: readonly DisclosureRecord[]
    readonly broken?: number
  } {
    return this.#log.read(package_)
  }

  close(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Another process writes: it will do so when it closes.
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
        // SQLite has undone it already.
      }
      throw error
    }
  }
}
