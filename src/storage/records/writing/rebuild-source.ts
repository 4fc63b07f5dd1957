import { SetupError } from '../../../capability/setup-error.ts'
import type { Field, Stream } from '../../../sources/records/model/stream.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { createColumns } from '../record-schema.ts'
import { RecordRows } from '../rows/record-rows.ts'
import { WordIndex } from '../words/word-index.ts'
import { refit } from './fit-entries.ts'

interface Former {
  readonly id: number
  readonly key: string
  readonly seq: number
  readonly at: string
  readonly body: string
}

const pageLength = 1000

/** The columns come from the declaration, so another one needs other columns. */
export function rebuildSource(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  refuseOtherKey(database, n, former, stream)
  if (former.consentTimeField !== stream.consentTimeField) forgetTimes(database, n)
  keepChanges(database, n, former, stream)
  database.exec(`alter table r${n} rename to former${n}`)
  database.exec(`drop index r${n}_k; drop index r${n}_s`)
  database.exec(`drop table g${n}; drop table c${n}; drop table x${n}`)
  for (const { n: field, name } of former.fields)
    if (name === former.cursorField || name === former.consentTimeField)
      database.exec(`drop index r${n}_f${field}`)
  if (former.fields.some(({ lexical }) => lexical)) database.exec(`drop table s${n}`)
  createColumns(database, n, stream)
  const records = new RecordRows(database, n, stream)
  const words = new WordIndex(database, n, stream)
  // Each keeps the key it has.
  const keyless = { ...stream, primaryKey: [] }
  for (const page of listFormer(database, n)) {
    for (const { id, key, seq, at, body } of page) {
      const written = refit(keyless, body)
      records.add(id, seq, { key, emittedAt: at }, written)
      words.add(id, written.texts)
    }
    words.flush()
  }
  database.exec(`drop table former${n}`)
}

/** Whoever is granted it has not seen it for a while, and nobody knows what changed meanwhile. */
export function tellReturned(database: Sqlite, n: number, { n: field, name }: Field): void {
  const { changes } = database
    .prepare(
      `insert or replace into h${n} (id, field, seq)
       select id, ?, row_number() over (order by id)
         + (select cast(value as integer) from meta where name = 'counter')
       from r${n} where exists (select 1 from json_each(body) where key = ?)`,
    )
    .run(field, name)
  database
    .prepare(
      `update meta set value = cast(cast(value as integer) + ? as text) where name = 'counter'`,
    )
    .run(changes)
}

/** Records keep their keys, so by another one each would come in a second time. */
function refuseOtherKey(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  if (JSON.stringify(former.primaryKey) === JSON.stringify(stream.primaryKey)) return
  if (!database.prepare<{ id: number }>(`select id from r${n} limit 1`).get()) return
  throw new SetupError(
    `${stream.name} has records that go by ${former.primaryKey.join(', ')}. With the primary_key ${stream.primaryKey.join(', ')} each would come in a second time. Declare a stream of another name, or delete the records first.`,
  )
}

/** A field of another type has another number, and has changed when it did. */
function keepChanges(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  const move = database.prepare(`update or replace h${n} set field = ? where field = ?`)
  for (const before of former.fields) {
    const now = stream.fields.find(({ name }) => name === before.name)
    if (now && now.n !== before.n) move.run(now.n, before.n)
  }
}

/** Where records were in a time that nobody is granted any more says nothing about the time that is. */
function forgetTimes(database: Sqlite, n: number): void {
  database.exec(`delete from d${n} where key in (select key from r${n})`)
  database.exec(`update d${n} set time = null`)
}

function* listFormer(database: Sqlite, n: number): Generator<readonly Former[]> {
  const page = database.prepare<Former>(
    `select id, key, seq, at, body from former${n} where id > ? order by id limit ${pageLength}`,
  )
  for (let after = 0; ; ) {
    const rows = page.all(after)
    yield rows
    if (rows.length < pageLength) return
    after = rows.at(-1)?.id ?? after
  }
}
