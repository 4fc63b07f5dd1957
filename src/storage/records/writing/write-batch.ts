import type { RecordEntry } from '../../../sources/records/import/to-entry.ts'
import { isScalar, type RecordSource, type Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { SegmentWriter } from '../columns/segment-writer.ts'
import { type Former, insertedAtOnce, type RecordContent, RecordRows } from '../rows/record-rows.ts'
import { WordIndex } from '../words/word-index.ts'

export interface WrittenBatch {
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly same: number
}

interface Tables {
  readonly stream: Stream
  readonly rows: RecordRows
  readonly words: WordIndex
}

/** Entries whose former versions are looked up at once. */
const lookedUpAtOnce = 8 * insertedAtOnce
/** Segments that one batch completes at most; more only where a file has none yet. */
const mostSettled = 4

/** Puts batches into the tables of their sources; each within a transaction of somebody else. */
export class BatchWriter {
  readonly #database: Sqlite
  readonly #segments: SegmentWriter
  readonly #tables = new Map<number, Tables>()

  constructor(database: Sqlite, segments: SegmentWriter) {
    this.#database = database
    this.#segments = segments
  }

  write(source: RecordSource, entries: readonly RecordEntry[]): WrittenBatch {
    const tables = this.#tablesOf(source)
    // What a batch left behind that failed concerns nobody.
    tables.words.forget()
    const batch = new Batch(this.#database, this.#segments, source, tables)
    const written = batch.write(entries)
    this.#segments.settle(source.n, source.stream, mostSettled)
    return written
  }

  #tablesOf({ n, stream }: RecordSource): Tables {
    const known = this.#tables.get(n)
    if (known?.stream === stream) return known
    const tables = {
      stream,
      rows: new RecordRows(this.#database, n, stream),
      words: new WordIndex(this.#database, n, stream),
    }
    this.#tables.set(n, tables)
    return tables
  }
}

class Batch {
  readonly #database: Sqlite
  readonly #segments: SegmentWriter
  readonly #n: number
  readonly #stream: Stream
  readonly #rows: RecordRows
  readonly #words: WordIndex
  /** The last record that is in a segment. */
  readonly #sealed: number
  readonly #tally = { added: 0, changed: 0, removed: 0, same: 0 }
  /** The number of the last change of anything. */
  #counter: number

  constructor(
    database: Sqlite,
    segments: SegmentWriter,
    { n, stream }: RecordSource,
    { rows, words }: Tables,
  ) {
    this.#database = database
    this.#segments = segments
    this.#n = n
    this.#stream = stream
    this.#rows = rows
    this.#words = words
    this.#sealed = segments.sealed(n)
    this.#counter = readCounter(database)
  }

  write(entries: readonly RecordEntry[]): WrittenBatch {
    let areLikelyNew = true
    for (let at = 0; at < entries.length; at += lookedUpAtOnce) {
      const several = entries.slice(at, at + lookedUpAtOnce)
      const added = areLikelyNew ? this.#addNew(several) : 0
      const rest = several.slice(added)
      if (rest.length > 0) areLikelyNew = this.#writeEach(rest) <= rest.length / 2
    }
    this.#words.flush()
    this.#database
      .prepare(`update meta set value = ? where name = 'counter'`)
      .run(String(this.#counter))
    return this.#tally
  }

  /** The first of them, as long as they are new; how many that were. */
  #addNew(entries: readonly RecordEntry[]): number {
    for (let at = 0; ; at += insertedAtOnce) {
      const some = entries.slice(at, at + insertedAtOnce)
      if (some.length < insertedAtOnce || !this.#rows.addAll(this.#counter + 1, some)) return at
      for (const { written } of some) {
        this.#counter += 1
        this.#words.add(this.#counter, written?.texts ?? [])
      }
      this.#tally.added += some.length
    }
  }

  /** Each for itself, because some are there already; how many of them. */
  #writeEach(entries: readonly RecordEntry[]): number {
    const formers = this.#rows.find(entries.map(({ key }) => key))
    const { size } = formers
    for (const entry of entries) {
      const { key, written } = entry
      const former = formers.get(key)
      if (!former && written) {
        // The same batch may say something else about it later.
        formers.set(key, this.#add(entry, written))
      } else if (!former || former.body === written?.body) this.#tally.same += 1
      else if (written) formers.set(key, this.#update(entry, written, former))
      else {
        this.#remove(entry, former)
        formers.delete(key)
      }
    }
    return size
  }

  #add(entry: RecordEntry, written: RecordContent): Former {
    const id = ++this.#counter
    this.#rows.add(id, id, entry, written)
    this.#words.add(id, written.texts)
    this.#tally.added += 1
    return { id, body: written.body, time: this.#timeOf(written) }
  }

  #update(entry: RecordEntry, written: RecordContent, former: Former): Former {
    const { id } = former
    const seq = ++this.#counter
    this.#rows.update(id, written)
    if (id <= this.#sealed) this.#segments.markStale(this.#n, id)
    this.#words.remove(id)
    this.#words.add(id, written.texts)
    const mark = this.#database.prepare(
      `insert into h${this.#n} (id, field, seq) values (?, ?, ?)
       on conflict do update set seq = excluded.seq`,
    )
    const [before, after] = [JSON.parse(former.body), JSON.parse(written.body)]
    for (const field of this.#stream.fields)
      if (JSON.stringify(before[field.name]) !== JSON.stringify(after[field.name])) {
        mark.run(id, field.n, seq)
        // It may be gone for those who are granted a time that it had.
        if (field.name === this.#stream.consentTimeField) this.#leave(entry, former, seq)
      }
    this.#tally.changed += 1
    return { id, body: written.body, time: this.#timeOf(written) }
  }

  #remove(entry: RecordEntry, former: Former): void {
    const { id } = former
    this.#words.remove(id)
    this.#rows.remove(id)
    this.#database.prepare(`delete from h${this.#n} where id = ?`).run(id)
    if (id <= this.#sealed) this.#segments.markStale(this.#n, id)
    this.#leave(entry, former, ++this.#counter)
    this.#tally.removed += 1
  }

  #leave({ key, emittedAt }: RecordEntry, { time }: Former, seq: number): void {
    this.#database
      .prepare(`insert into d${this.#n} (seq, key, at, time) values (?, ?, ?, ?)`)
      .run(seq, key, emittedAt, time)
  }

  #timeOf({ values }: RecordContent): number | null {
    const scalars = this.#stream.fields.filter(isScalar)
    const at = scalars.findIndex(({ name }) => name === this.#stream.consentTimeField)
    return (values[at] ?? null) as number | null
  }
}

const readCounter = (database: Sqlite): number =>
  Number(
    database.prepare<{ value: string }>(`select value from meta where name = 'counter'`).get()
      ?.value ?? 0,
  )
