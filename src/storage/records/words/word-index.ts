import type { Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite, Statement } from '../../sqlite/sqlite.ts'

/**
 * The words of one source. They are gathered and written at the end of a batch, all in one statement:
 * between two statements about several rows the engine writes all the words it has to the disk.
 */
export class WordIndex {
  readonly #insert: Statement<never> | undefined
  readonly #delete: Statement<never> | undefined
  readonly #fresh = new Map<number, readonly string[]>()
  readonly #gone = new Set<number>()

  constructor(database: Sqlite, n: number, { fields }: Stream) {
    const columns = fields.filter(({ lexical }) => lexical).map((field) => `c${field.n}`)
    if (columns.length === 0) return
    const parts = columns.map((_, at) => `value ->> ${at + 1}`)
    this.#insert = database.prepare(
      `insert into s${n} (rowid, ${columns.join(', ')}) select value ->> 0, ${parts.join(', ')} from json_each(?)`,
    )
    this.#delete = database.prepare(
      `delete from s${n} where rowid in (select value from json_each(?))`,
    )
  }

  add(id: number, texts: readonly string[]): void {
    this.#fresh.set(id, texts)
  }

  /** Of a record that may have been added a moment ago. */
  remove(id: number): void {
    if (!this.#fresh.delete(id)) this.#gone.add(id)
  }

  flush(): void {
    const [fresh, gone] = [[...this.#fresh], [...this.#gone]]
    this.forget()
    if (gone.length > 0) this.#delete?.run(JSON.stringify(gone))
    if (fresh.length > 0)
      this.#insert?.run(JSON.stringify(fresh.map(([id, texts]) => [id, ...texts])))
  }

  /** For a batch that comes to nothing. */
  forget(): void {
    this.#fresh.clear()
    this.#gone.clear()
  }
}
