import type { RecordEntry } from '../../../sources/records/import/to-entry.ts'
import { isScalar, type Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite, Statement, Value } from '../../sqlite/sqlite.ts'

export type RecordContent = NonNullable<RecordEntry['written']>

/** A record as it was before. */
export interface Former {
  readonly id: number
  readonly body: string
  /** What it has in the field that grants of a time are about. */
  readonly time: number | null
}

/** Records in one statement: handing one over costs as much as a few rows. */
export const insertedAtOnce = 16

/** The records of one source in their table; its statements are written once. */
export class RecordRows {
  readonly #insert: Statement<never>
  readonly #insertSeveral: Statement<never>
  readonly #takeBack: Statement<never>
  readonly #find: Statement<Former & { readonly key: string }>
  readonly #update: Statement<never>
  readonly #remove: Statement<never>

  constructor(database: Sqlite, n: number, { fields, consentTimeField }: Stream) {
    const scalars = fields.filter(isScalar).map((field) => `f${field.n}`)
    const columns = ['id', 'key', 'seq', 'at', ...scalars, 'body']
    const marks = `(${columns.map(() => '?').join(', ')})`
    const into = `into r${n} (${columns.join(', ')}) values`
    this.#insert = database.prepare(`insert ${into} ${marks}`)
    // With any other word than `ignore`, several rows have a journal of their own, which costs as much
    // as they do.
    this.#insertSeveral = database.prepare(
      `insert or ignore ${into} ${Array(insertedAtOnce).fill(marks).join(', ')}`,
    )
    this.#takeBack = database.prepare(`delete from r${n} where id >= ? and id < ?`)
    const time = fields.find(({ name }) => name === consentTimeField)
    this.#find = database.prepare(
      `select kept.id, kept.key, body, ${time ? `f${time.n}` : 'null'} as time
       from json_each(?) as wanted cross join r${n} as kept on kept.key = wanted.value`,
    )
    this.#update = database.prepare(
      `update r${n} set ${scalars.map((column) => `${column} = ?, `).join('')}body = ? where id = ?`,
    )
    this.#remove = database.prepare(`delete from r${n} where id = ?`)
  }

  add(id: number, seq: number, entry: RecordEntry, written: RecordContent): void {
    this.#insert.run(...toRow(id, seq, entry, written))
  }

  /** Exactly so many as go at once, if every one of them is new; otherwise none. */
  addAll(first: number, entries: readonly RecordEntry[]): boolean {
    const rows: Value[] = []
    let id = first
    for (const entry of entries) {
      if (!entry.written) return false
      rows.push(...toRow(id, id, entry, entry.written))
      id += 1
    }
    const { changes } = this.#insertSeveral.run(...rows)
    if (changes < entries.length) this.#takeBack.run(first, id)
    return changes === entries.length
  }

  /** Those of these keys that are there. */
  find(keys: readonly string[]): Map<string, Former> {
    return new Map(this.#find.all(JSON.stringify(keys)).map(({ key, ...former }) => [key, former]))
  }

  /** When it first arrived stays: a later time would tell of changes that are not granted. */
  update(id: number, { values, body }: RecordContent): void {
    this.#update.run(...values, body, id)
  }

  remove(id: number): void {
    this.#remove.run(id)
  }
}

const toRow = (
  id: number,
  seq: number,
  { key, emittedAt }: RecordEntry,
  written: RecordContent,
): Value[] => [id, key, seq, emittedAt, ...written.values, written.body]
