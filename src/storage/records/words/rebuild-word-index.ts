import type { Stream } from '../../../sources/records/model/stream.ts'
import { toWords } from '../../../sources/records/search/words.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'

interface Kept {
  readonly id: number
  readonly body: string
}

const pageLength = 1000

/**
 * Texts in scripts without spaces between words, and in those whose vowels are marks, were in the index
 * as other words once. Everything else is in it as it was, and is not touched.
 */
export function rebuildWordIndex(database: Sqlite, n: number, { fields }: Stream): void {
  const lexical = fields.filter((field) => field.lexical)
  if (lexical.length === 0) return
  const columns = lexical.map((field) => `c${field.n}`)
  const marks = lexical.map(() => '?')
  const remove = database.prepare(`delete from s${n} where rowid = ?`)
  const add = database.prepare(
    `insert into s${n} (rowid, ${columns.join(', ')}) values (?, ${marks.join(', ')})`,
  )
  for (const { id, body } of listBeyondAscii(database, n)) {
    if (!foldedOtherwise.test(body)) continue
    const data: Record<string, unknown> = JSON.parse(body)
    remove.run(id)
    add.run(id, ...lexical.map(({ name }) => toWords(data[name])))
  }
}

/** From Devanagari to Myanmar, Khmer, and everything Chinese and Japanese. */
const foldedOtherwise =
  /[\u0900-\u109f\u1780-\u17ff\u2e80-\u9fff\ua8e0-\uaa7f\uf900-\ufaff\uff65-\uff9f\ud805\ud81b\ud82b\ud82c\ud840-\ud8bf]/

function* listBeyondAscii(database: Sqlite, n: number): Generator<Kept> {
  const page = database.prepare<Kept>(
    `select id, body from r${n} where id > ? and length(body) < octet_length(body) order by id limit ${pageLength}`,
  )
  for (let after = 0; ; ) {
    const rows = page.all(after)
    yield* rows
    if (rows.length < pageLength) return
    after = rows.at(-1)?.id ?? after
  }
}
