import { isScalar, type Stream } from '../sources/records/model.ts'
import type { Entry } from '../sources/records/to-entry.ts'
import type { Sqlite, Statement, Value } from './sqlite.ts'

type Content = NonNullable<Entry['written']>

/** Records in one statement: handing one over costs as much as a few rows. */
export const insertedAtOnce = 16

/** Puts new records into the tables of one source; its statements are written once. */
export class InsertStatements {
  readonly #takeBack: Statement<never>
  readonly #insert: (rows: number) => Statement<never>
  readonly #index: ((rows: number) => Statement<never>) | undefined

  constructor(database: Sqlite, n: number, { fields }: Stream) {
    this.#takeBack = database.prepare(`delete from r${n} where id >= ? and id < ?`)
    const scalars = fields.filter(isScalar).map((field) => `f${field.n}`)
    const lexical = fields.filter((field) => field.lexical).map((field) => `c${field.n}`)
    const toInsert = (table: string, columns: readonly string[], ending: string) => {
      const marks = `(${columns.map(() => '?').join(', ')})`
      const prepare = (rows: number) =>
        database.prepare<never>(
          `insert into ${table} (${columns.join(', ')}) values ${Array(rows).fill(marks).join(', ')}${ending}`,
        )
      const [one, many] = [prepare(1), prepare(insertedAtOnce)]
      return (rows: number) => (rows === 1 ? one : many)
    }
    const columns = ['id', 'key', 'seq', 'at', ...scalars, 'body']
    this.#insert = toInsert(`r${n}`, columns, ' on conflict (key) do nothing')
    if (lexical.length > 0) this.#index = toInsert(`s${n}`, ['rowid', ...lexical], '')
  }

  /** Whether it is new: one whose key is there already is left as it is. */
  add(id: number, seq: number, entry: Entry, written: Content): boolean {
    const { changes } = this.#insert(1).run(...toRow(id, seq, entry, written))
    if (changes === 0) return false
    this.index(id, written)
    return true
  }

  /** Exactly so many as go at once, if every one of them is new; otherwise none. */
  addAll(first: number, entries: readonly Entry[]): boolean {
    const rows: Value[] = []
    const words: Value[] = []
    for (const [at, entry] of entries.entries()) {
      if (!entry.written) return false
      rows.push(...toRow(first + at, first + at, entry, entry.written))
      words.push(first + at, ...entry.written.texts)
    }
    const { changes } = this.#insert(entries.length).run(...rows)
    if (changes === entries.length) this.#index?.(entries.length).run(...words)
    // Not by a savepoint: the index of words writes all it has to the disk for each of those.
    else this.#takeBack.run(first, first + entries.length)
    return changes === entries.length
  }

  index(id: number, { texts }: Content): void {
    this.#index?.(1).run(id, ...texts)
  }
}

const toRow = (id: number, seq: number, { key, emittedAt }: Entry, written: Content): Value[] => [
  id,
  key,
  seq,
  emittedAt,
  ...written.values,
  written.body,
]
