import { isScalar, type Stream } from '../../../sources/records/model/stream.ts'
import type { RecordContent } from '../../../sources/records/model/to-content.ts'
import type { RecordEntry } from '../../../sources/records/record-sink.ts'
import { type Bytes, toText } from '../../sqlite/bytes.ts'
import type { Sqlite, Statement, Value } from '../../sqlite/sqlite.ts'
import { recordTable, valueColumn } from '../table-names.ts'

/** A record that is in the table already. */
export interface StoredRecord {
  readonly id: number
  readonly body: string
  /** The value of the consent time field. */
  readonly time: number | null
}

/** Without the key, which the caller has: text is read as bytes, which takes longer. */
interface FoundRow extends Omit<StoredRecord, 'body'> {
  /** Index of the key in the list. */
  readonly position: number
  readonly body: Bytes
}

/** Rows of one multi-row insert: a call of the driver costs as much as a few rows. */
export const insertRows = 16

/** The record table of one source, with its prepared statements. */
export class RecordTable {
  readonly #insert: Statement<never>
  readonly #insertSeveral: Statement<never>
  readonly #deleteRange: Statement<never>
  readonly #find: Statement<FoundRow>
  readonly #update: Statement<never>
  readonly #delete: Statement<never>

  constructor(database: Sqlite, n: number, { fields, consentTimeField }: Stream) {
    const table = recordTable(n)
    const scalars = fields.filter(isScalar).map((field) => valueColumn(field.n))
    const columns = ['id', 'key', 'seq', 'at', ...scalars, 'body']
    const parameters = `(${columns.map(() => '?').join(', ')})`
    const into = `into ${table} (${columns.join(', ')}) values`
    this.#insert = database.prepare(`insert ${into} ${parameters}`)
    // Any conflict clause but `ignore` adds a statement journal, which costs as much as the rows.
    this.#insertSeveral = database.prepare(
      `insert or ignore ${into} ${Array(insertRows).fill(parameters).join(', ')}`,
    )
    this.#deleteRange = database.prepare(`delete from ${table} where id >= ? and id < ?`)
    const time = fields.find(({ name }) => name === consentTimeField)
    this.#find = database.prepare(
      `select cast(wanted.key as integer) as position, cast(stored.id as integer) as id,
         cast(${time ? valueColumn(time.n) : 'null'} as integer) as time, cast(body as blob) as body
       from json_each(?) as wanted
       cross join ${table} as stored on stored.key = wanted.value`,
    )
    const assignments = scalars.map((column) => `${column} = ?, `).join('')
    this.#update = database.prepare(`update ${table} set ${assignments}body = ? where id = ?`)
    this.#delete = database.prepare(`delete from ${table} where id = ?`)
  }

  add(id: number, seq: number, entry: RecordEntry, content: RecordContent): void {
    this.#insert.run(...toRow(id, seq, entry, content))
  }

  /** Inserts exactly `insertRows` entries if every one of them is new; otherwise none. */
  addAll(first: number, entries: readonly RecordEntry[]): boolean {
    const rows: Value[] = []
    let id = first
    for (const entry of entries) {
      if (!entry.content) return false
      rows.push(...toRow(id, id, entry, entry.content))
      id += 1
    }
    const { changes } = this.#insertSeveral.run(...rows)
    if (changes < entries.length) this.#deleteRange.run(first, id)
    return changes === entries.length
  }

  find(keys: readonly string[]): Map<string, StoredRecord> {
    const rows = this.#find.all(JSON.stringify(keys))
    return new Map(
      rows.map(({ position, id, time, body }) => [
        keys[position] ?? '',
        { id, time, body: toText(body) },
      ]),
    )
  }

  /** Keeps `at`, the time of the first arrival: a later one would reveal changes that are not granted. */
  update(id: number, { values, body }: RecordContent): void {
    this.#update.run(...values, body, id)
  }

  remove(id: number): void {
    this.#delete.run(id)
  }
}

const toRow = (
  id: number,
  seq: number,
  { key, emittedAt }: RecordEntry,
  content: RecordContent,
): Value[] => [id, key, seq, emittedAt, ...content.values, content.body]
