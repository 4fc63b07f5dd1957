import { parseJson } from '../../../json/parse-json.ts'
import type { Data } from '../../../sources/records/model/record-data.ts'
import { isScalar, type RecordSource, type Stream } from '../../../sources/records/model/stream.ts'
import type { RecordContent } from '../../../sources/records/model/to-content.ts'
import type { RecordEntry, WrittenBatch } from '../../../sources/records/record-sink.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { SegmentWriter } from '../columns/segment-writer.ts'
import { insertRows, RecordTable, type StoredRecord } from '../rows/record-table.ts'
import { departureTable, fieldChangeTable } from '../table-names.ts'
import { WordIndex } from '../words/word-index.ts'

interface SourceTables {
  readonly stream: Stream
  readonly rows: RecordTable
  readonly words: WordIndex
}

/** Entries whose stored versions are looked up by one query. */
const chunkLength = 8 * insertRows
/** Segments sealed with one batch; older files without segments catch up over several batches. */
const maxSealed = 4

/** Writes batches into the tables of their sources. The caller opens the transaction. */
export class BatchWriter {
  readonly #database: Sqlite
  readonly #segments: SegmentWriter
  readonly #tables = new Map<number, SourceTables>()

  constructor(database: Sqlite, segments: SegmentWriter) {
    this.#database = database
    this.#segments = segments
  }

  write(source: RecordSource, entries: readonly RecordEntry[]): WrittenBatch {
    const tables = this.#tablesOf(source)
    // A failed batch may have left entries in the buffer.
    tables.words.discard()
    const batch = new Batch(this.#database, this.#segments, source, tables)
    const counts = batch.write(entries)
    this.#segments.maintain(source.n, source.stream, maxSealed)
    return counts
  }

  #tablesOf({ n, stream }: RecordSource): SourceTables {
    const cached = this.#tables.get(n)
    if (cached?.stream === stream) return cached
    const tables = {
      stream,
      rows: new RecordTable(this.#database, n, stream),
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
  readonly #rows: RecordTable
  readonly #words: WordIndex
  /** The last record of the last segment. */
  readonly #lastSealedId: number
  readonly #counts = { added: 0, changed: 0, removed: 0, same: 0 }
  /** The number of the last change in the file. */
  #counter: number

  constructor(
    database: Sqlite,
    segments: SegmentWriter,
    { n, stream }: RecordSource,
    { rows, words }: SourceTables,
  ) {
    this.#database = database
    this.#segments = segments
    this.#n = n
    this.#stream = stream
    this.#rows = rows
    this.#words = words
    this.#lastSealedId = segments.lastSealedId(n)
    this.#counter = readCounter(database)
  }

  write(entries: readonly RecordEntry[]): WrittenBatch {
    let areLikelyNew = true
    for (let at = 0; at < entries.length; at += chunkLength) {
      const chunk = entries.slice(at, at + chunkLength)
      const addedCount = areLikelyNew ? this.#addNew(chunk) : 0
      const rest = chunk.slice(addedCount)
      if (rest.length > 0) areLikelyNew = this.#writeEach(rest) <= rest.length / 2
    }
    this.#words.flush()
    this.#database
      .prepare(`update meta set value = ? where name = 'counter'`)
      .run(String(this.#counter))
    return this.#counts
  }

  /** Adds entries from the start by multi-row inserts, as long as all are new; returns their number. */
  #addNew(entries: readonly RecordEntry[]): number {
    for (let at = 0; ; at += insertRows) {
      const chunk = entries.slice(at, at + insertRows)
      if (chunk.length < insertRows || !this.#rows.addAll(this.#counter + 1, chunk)) return at
      for (const { content } of chunk) {
        this.#counter += 1
        this.#words.add(this.#counter, content?.texts ?? [])
      }
      this.#counts.added += chunk.length
    }
  }

  /** Writes entries one by one; returns how many of them were stored already. */
  #writeEach(entries: readonly RecordEntry[]): number {
    const storedByKey = this.#rows.find(entries.map(({ key }) => key))
    const { size } = storedByKey
    for (const entry of entries) {
      const { key, content } = entry
      const storedRecord = storedByKey.get(key)
      // The map is kept up to date: a later entry may have the same key.
      if (!storedRecord && content) storedByKey.set(key, this.#add(entry, content))
      else if (!storedRecord || storedRecord.body === content?.body) this.#counts.same += 1
      else if (content) storedByKey.set(key, this.#update(entry, content, storedRecord))
      else {
        this.#remove(entry, storedRecord)
        storedByKey.delete(key)
      }
    }
    return size
  }

  #add(entry: RecordEntry, content: RecordContent): StoredRecord {
    const id = ++this.#counter
    this.#rows.add(id, id, entry, content)
    this.#words.add(id, content.texts)
    this.#counts.added += 1
    return { id, body: content.body, time: this.#timeOf(content) }
  }

  #update(entry: RecordEntry, content: RecordContent, storedRecord: StoredRecord): StoredRecord {
    const { id } = storedRecord
    const seq = ++this.#counter
    this.#rows.update(id, content)
    if (id <= this.#lastSealedId) this.#segments.markStale(this.#n, id)
    this.#words.remove(id)
    this.#words.add(id, content.texts)
    const mark = this.#database.prepare(
      `insert into ${fieldChangeTable(this.#n)} (id, field, seq) values (?, ?, ?)
       on conflict do update set seq = excluded.seq`,
    )
    // Of a damaged record, every field counts as changed.
    const before = (parseJson(storedRecord.body) ?? {}) as Data
    const after: Data = JSON.parse(content.body)
    for (const field of this.#stream.fields)
      if (JSON.stringify(before[field.name]) !== JSON.stringify(after[field.name])) {
        mark.run(id, field.n, seq)
        // The record may have left the time range of a grant.
        if (field.name === this.#stream.consentTimeField)
          this.#addDeparture(entry, storedRecord, seq)
      }
    this.#counts.changed += 1
    return { id, body: content.body, time: this.#timeOf(content) }
  }

  #remove(entry: RecordEntry, storedRecord: StoredRecord): void {
    const { id } = storedRecord
    this.#words.remove(id)
    this.#rows.remove(id)
    this.#database.prepare(`delete from ${fieldChangeTable(this.#n)} where id = ?`).run(id)
    if (id <= this.#lastSealedId) this.#segments.markStale(this.#n, id)
    this.#addDeparture(entry, storedRecord, ++this.#counter)
    this.#counts.removed += 1
  }

  #addDeparture({ key, emittedAt }: RecordEntry, { time }: StoredRecord, seq: number): void {
    this.#database
      .prepare(`insert into ${departureTable(this.#n)} (seq, key, at, time) values (?, ?, ?, ?)`)
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
