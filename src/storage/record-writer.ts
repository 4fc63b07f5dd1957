import type { GrantPackage, OwnerToken, TokenKind } from '../sources/records/grant.ts'
import type { RecordSink } from '../sources/records/intake.ts'
import {
  type Connection,
  isScalar,
  type RecordSource,
  type Stream,
} from '../sources/records/model.ts'
import type { Binding, KeptBlob } from '../sources/records/record-store.ts'
import type { Entry } from '../sources/records/to-entry.ts'
import { BlobTable } from './blob-table.ts'
import { DisclosureLog, type DisclosureRecord } from './disclosure-log.ts'
import { numberFields } from './field-numbers.ts'
import { fitEntries, toLayout } from './fit-entries.ts'
import { GrantTables } from './grant-tables.ts'
import { InsertStatements, insertedAtOnce } from './insert-statements.ts'
import { rebuildSource } from './rebuild-source.ts'
import { RecordCatalogue } from './record-catalogue.ts'
import { createTables, prepareRecords } from './record-schema.ts'
import { SegmentWriter } from './segment-writer.ts'
import { openSqlite, type Sqlite } from './sqlite.ts'

export interface Written {
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly same: number
}

interface StreamRow {
  readonly n: number
  readonly declaration: string
}

interface Existing {
  readonly id: number
  readonly body: string
  readonly time: number | null
}

/** Segments that one batch completes at most; more only where a file has none yet. */
const mostSettled = 4

/** The owner's side of a store of records: everything that writes. */
export class RecordWriter implements RecordSink {
  readonly #database: Sqlite
  readonly #catalogue: RecordCatalogue
  readonly #grants: GrantTables
  readonly #log: DisclosureLog
  readonly #segments: SegmentWriter
  readonly #inserts = new Map<number, { stream: Stream; statements: InsertStatements }>()
  /** The last record of the source that is in a segment, while it is written to. */
  #sealed = 0

  constructor(file: string, now: () => number) {
    this.#database = openSqlite(file)
    prepareRecords(this.#database, file)
    // What an owner is told is done is done, also when the power fails.
    this.#database.exec('pragma synchronous = full')
    this.#catalogue = new RecordCatalogue(this.#database)
    this.#grants = new GrantTables(this.#database)
    this.#segments = new SegmentWriter(this.#database)
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
    this.#commit(() => {
      const known = this.#findStream(given)
      if (known) this.#declareAnew(known, given)
      else this.#declareFirst(given)
    })
  }

  #declareFirst(given: Stream): void {
    this.#database
      .prepare(`insert into streams (connector, name, declaration) values (?, ?, '')`)
      .run(given.connector, given.name)
    const made = this.#findStream(given)
    if (!made) throw new Error(`${given.name} was not declared`)
    this.#putDeclaration(made.n, numberFields(this.#database, made.n, given))
  }

  #declareAnew({ n, declaration }: StreamRow, given: Stream): void {
    const stream = numberFields(this.#database, n, given)
    if (JSON.stringify(stream) === declaration) return
    this.#putDeclaration(n, stream)
    for (const source of this.#database
      .prepare<{ n: number }>('select n from sources where stream = ?')
      .all(n)) {
      rebuildSource(this.#database, source.n, JSON.parse(declaration), stream)
      this.#segments.settle(source.n, stream)
    }
  }

  #putDeclaration(n: number, stream: Stream): void {
    this.#database
      .prepare('update streams set declaration = ? where n = ?')
      .run(JSON.stringify(stream), n)
    this.#touch()
  }

  #findStream({ connector, name }: Stream): StreamRow | undefined {
    return this.#database
      .prepare<StreamRow>('select n, declaration from streams where connector = ? and name = ?')
      .get(connector, name)
  }

  /** The source of a declared stream and a connection, as the file has the stream. */
  open(stream: Stream, connection: Connection): RecordSource {
    const known = this.sources.find(
      (one) =>
        one.stream.name === stream.name &&
        one.stream.connector === stream.connector &&
        one.connection.id === connection.id &&
        one.connection.label === (connection.label ?? one.connection.label),
    )
    if (known) return { n: known.n, connection, stream: known.stream }
    return this.#commit(() => {
      this.#database
        .prepare(
          `insert into connections (id, connector, label) values (?, ?, ?)
           on conflict do update set label = coalesce(excluded.label, label)`,
        )
        .run(connection.id, connection.connector, connection.label ?? null)
      const declared = this.#findStream(stream)
      if (!declared) throw new Error(`${stream.name} is not declared`)
      const { changes } = this.#database
        .prepare('insert or ignore into sources (connection, stream) values (?, ?)')
        .run(connection.id, declared.n)
      const made = this.#database
        .prepare<{ n: number }>('select n from sources where connection = ? and stream = ?')
        .get(connection.id, declared.n)
      if (!made) throw new Error(`${stream.name} of ${connection.id} was not made`)
      const present: Stream = JSON.parse(declared.declaration)
      if (changes > 0) createTables(this.#database, made.n, present)
      this.#touch()
      return { n: made.n, connection, stream: present }
    })
  }

  /** One transaction: all of a batch, and how far its file has come, or nothing of either. */
  write(given: RecordSource, made: readonly Entry[], place?: Place): Written {
    const tally = { added: 0, changed: 0, removed: 0, same: 0 }
    this.#commit(() => {
      // It may have been declared anew while this waited for its turn.
      const source = this.#present(given)
      const entries = fitEntries(made, toLayout(given.stream), source.stream)
      this.#sealed = this.#segments.sealed(source.n)
      const inserts = this.#insertsOf(source)
      let areLikelyNew = true
      let counter = this.#counter()
      for (let at = 0; at < entries.length; ) {
        const several = entries.slice(at, at + insertedAtOnce)
        if (areLikelyNew && several.length === insertedAtOnce) {
          areLikelyNew = inserts.addAll(counter + 1, several)
          if (areLikelyNew) {
            counter += several.length
            tally.added += several.length
            at += several.length
            continue
          }
        }
        const entry = several[0] as Entry
        at += 1
        if (entry.written && inserts.add(counter + 1, counter + 1, entry, entry.written)) {
          counter += 1
          tally.added++
          continue
        }
        const existing = this.#find(source, entry.key)
        if (!existing) tally.same++
        else if (!entry.written) {
          this.#remove(source, entry, existing, ++counter)
          tally.removed++
        } else if (existing.body === entry.written.body) tally.same++
        else {
          this.#update(source, entry, entry.written, existing, ++counter)
          tally.changed++
        }
      }
      this.#database
        .prepare(`update meta set value = ? where name = 'counter'`)
        .run(String(counter))
      if (place)
        this.#database
          .prepare(
            `insert into imports (source, file, lines) values (?, ?, ?)
             on conflict do update set lines = excluded.lines`,
          )
          .run(source.n, place.file, place.lines)
      this.#segments.settle(source.n, source.stream, mostSettled)
    })
    return tally
  }

  /** How many lines of a file are in the store already. */
  linesOf(source: RecordSource, file: string): number {
    return (
      this.#database
        .prepare<{ lines: number }>('select lines from imports where source = ? and file = ?')
        .get(source.n, file)?.lines ?? 0
    )
  }

  holds(source: RecordSource, key: string): boolean {
    return this.#find(source, key) !== undefined
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

  keep(blob: KeptBlob, binding: Binding): void {
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

  #present({ n }: RecordSource): RecordSource {
    const present = this.sources.find((one) => one.n === n)
    if (!present) throw new Error(`There is no source ${n}.`)
    return present
  }

  #find({ n, stream }: RecordSource, key: string): Existing | undefined {
    const time = stream.fields.find(({ name }) => name === stream.consentTimeField)
    return this.#database
      .prepare<Existing>(
        `select id, body, ${time ? `f${time.n}` : 'null'} as time from r${n} where key = ?`,
      )
      .get(key)
  }

  #insertsOf({ n, stream }: RecordSource): InsertStatements {
    const known = this.#inserts.get(n)
    if (known?.stream === stream) return known.statements
    const statements = new InsertStatements(this.#database, n, stream)
    this.#inserts.set(n, { stream, statements })
    return statements
  }

  #update(
    source: RecordSource,
    entry: Entry,
    written: Content,
    existing: Existing,
    seq: number,
  ): void {
    const { n, stream } = source
    const sets = stream.fields.filter(isScalar).map((field) => `f${field.n} = ?, `)
    // When it first arrived stays: a later time would tell of changes that are not granted.
    this.#database
      .prepare(`update r${n} set ${sets.join('')}body = ? where id = ?`)
      .run(...written.values, written.body, existing.id)
    if (existing.id <= this.#sealed) this.#segments.markStale(n, existing.id)
    this.#unindex(n, stream, existing.id)
    this.#insertsOf(source).index(existing.id, written)
    const mark = this.#database.prepare(
      `insert into h${n} (id, field, seq) values (?, ?, ?)
       on conflict do update set seq = excluded.seq`,
    )
    const [before, after] = [JSON.parse(existing.body), JSON.parse(written.body)]
    for (const field of stream.fields)
      if (JSON.stringify(before[field.name]) !== JSON.stringify(after[field.name])) {
        mark.run(existing.id, field.n, seq)
        // It may be gone for those who are granted a time that it had.
        if (field.name === stream.consentTimeField) this.#leave(n, entry, existing, seq)
      }
  }

  #remove({ n, stream }: RecordSource, entry: Entry, existing: Existing, seq: number): void {
    this.#unindex(n, stream, existing.id)
    this.#database.prepare(`delete from r${n} where id = ?`).run(existing.id)
    this.#database.prepare(`delete from h${n} where id = ?`).run(existing.id)
    if (existing.id <= this.#sealed) this.#segments.markStale(n, existing.id)
    this.#leave(n, entry, existing, seq)
  }

  #leave(n: number, { key, emittedAt }: Entry, { time }: Existing, seq: number): void {
    this.#database
      .prepare(`insert into d${n} (seq, key, at, time) values (?, ?, ?, ?)`)
      .run(seq, key, emittedAt, time)
  }

  #unindex(n: number, stream: Stream, rowid: number): void {
    if (stream.fields.some(({ lexical }) => lexical))
      this.#database.prepare(`delete from s${n} where rowid = ?`).run(rowid)
  }

  #counter(): number {
    return Number(
      this.#database
        .prepare<{ value: string }>(`select value from meta where name = 'counter'`)
        .get()?.value ?? 0,
    )
  }

  #touch(): void {
    this.#database.exec(
      `update meta set value = cast(cast(value as integer) + 1 as text) where name = 'catalogue'`,
    )
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

/** How far into a file a batch goes. */
export interface Place {
  /** Its digest: the same file again is the same place. */
  readonly file: string
  readonly lines: number
}

type Content = NonNullable<Entry['written']>
