import type { Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite, Statement } from '../../sqlite/sqlite.ts'
import { wordColumn, wordTable } from '../table-names.ts'

/**
 * The full-text index of one source. Entries are buffered and written at the end of a batch in one
 * statement: between two multi-row statements FTS5 flushes all its pending terms to the disk.
 */
export class WordIndex {
  readonly #insert: Statement<never> | undefined
  readonly #delete: Statement<never> | undefined
  readonly #textsToAdd = new Map<number, readonly string[]>()
  readonly #idsToRemove = new Set<number>()

  constructor(database: Sqlite, n: number, { fields }: Stream) {
    const columns = fields.filter(({ lexical }) => lexical).map((field) => wordColumn(field.n))
    if (columns.length === 0) return
    const texts = columns.map((_, at) => `value ->> ${at + 1}`)
    this.#insert = database.prepare(
      `insert into ${wordTable(n)} (rowid, ${columns.join(', ')})
       select value ->> 0, ${texts.join(', ')} from json_each(?)`,
    )
    this.#delete = database.prepare(
      `delete from ${wordTable(n)} where rowid in (select value from json_each(?))`,
    )
  }

  add(id: number, texts: readonly string[]): void {
    this.#textsToAdd.set(id, texts)
  }

  remove(id: number): void {
    // An entry that is still buffered is not in the index yet.
    if (!this.#textsToAdd.delete(id)) this.#idsToRemove.add(id)
  }

  flush(): void {
    const [rows, ids] = [[...this.#textsToAdd], [...this.#idsToRemove]]
    this.discard()
    if (ids.length > 0) this.#delete?.run(JSON.stringify(ids))
    if (rows.length > 0)
      this.#insert?.run(JSON.stringify(rows.map(([id, texts]) => [id, ...texts])))
  }

  /** Drops the buffered entries of a batch that failed. */
  discard(): void {
    this.#textsToAdd.clear()
    this.#idsToRemove.clear()
  }
}
