import type { Stream } from '../../../sources/records/model/stream.ts'
import { toIndexText } from '../../../sources/records/model/words.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { recordTable, wordColumn, wordTable } from '../table-names.ts'

interface BodyRow {
  readonly id: number
  readonly body: string
}

const pageLength = 1000

/**
 * Migration: texts in scripts without spaces between words, or with vowels as combining marks, were split
 * into other words by earlier versions. Only records with such texts are indexed again.
 */
export function rebuildWordIndex(database: Sqlite, n: number, { fields }: Stream): void {
  const lexical = fields.filter((field) => field.lexical)
  if (lexical.length === 0) return
  const columns = lexical.map((field) => wordColumn(field.n))
  const parameters = lexical.map(() => '?')
  const remove = database.prepare(`delete from ${wordTable(n)} where rowid = ?`)
  const add = database.prepare(
    `insert into ${wordTable(n)} (rowid, ${columns.join(', ')})
     values (?, ${parameters.join(', ')})`,
  )
  for (const { id, body } of listNonAscii(database, n)) {
    if (!affectedScripts.test(body)) continue
    const data: Record<string, unknown> = JSON.parse(body)
    remove.run(id)
    add.run(id, ...lexical.map(({ name }) => toIndexText(data[name])))
  }
}

/** Devanagari to Myanmar, Khmer, and all Chinese and Japanese. */
const affectedScripts =
  /[\u0900-\u109f\u1780-\u17ff\u2e80-\u9fff\ua8e0-\uaa7f\uf900-\ufaff\uff65-\uff9f\ud805\ud81b\ud82b\ud82c\ud840-\ud8bf]/

function* listNonAscii(database: Sqlite, n: number): Generator<BodyRow> {
  const page = database.prepare<BodyRow>(
    `select id, body from ${recordTable(n)}
     where id > ? and length(body) < octet_length(body)
     order by id limit ${pageLength}`,
  )
  for (let after = 0; ; ) {
    const rows = page.all(after)
    yield* rows
    if (rows.length < pageLength) return
    after = rows.at(-1)?.id ?? after
  }
}
