import type { Stream } from '../sources/records/model.ts'
import { toEntry } from '../sources/records/to-entry.ts'
import { InsertStatements } from './insert-statements.ts'
import { createTables } from './record-schema.ts'
import type { Sqlite } from './sqlite.ts'

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
  // Numbers of fields may mean others now: what changed later is remembered for the whole record.
  database.exec(
    `update r${n} set seq = max(seq, coalesce((select max(seq) from h${n} where h${n}.id = r${n}.id), 0))`,
  )
  database.exec(`alter table r${n} rename to former${n}`)
  database.exec(`drop index r${n}_k; drop index r${n}_s; drop table h${n}`)
  database.exec(`drop table g${n}; drop table c${n}; drop table x${n}`)
  for (const { n: field, name } of former.fields)
    if (name === former.cursorField || name === former.consentTimeField)
      database.exec(`drop index r${n}_f${field}`)
  if (former.fields.some(({ lexical }) => lexical)) database.exec(`drop table s${n}`)
  database.exec(`alter table d${n} rename to gone${n}; drop index if exists d${n}_k`)
  createTables(database, n, stream)
  database.exec(`insert into d${n} select * from gone${n}; drop table gone${n}`)
  const inserts = new InsertStatements(database, n, stream)
  // Each keeps the key it has.
  const keyless = { ...stream, primaryKey: [] }
  for (const { id, key, seq, at, body } of listFormer(database, n)) {
    const entry = toEntry(keyless, { object: 'record', data: JSON.parse(body) }, at)
    if (typeof entry === 'string' || !entry.written)
      throw new Error(`${stream.name} cannot be declared anew because of ${key}: ${entry}`)
    inserts.add(id, seq, { key, emittedAt: at }, { ...entry.written, body })
  }
  database.exec(`drop table former${n}`)
}

function* listFormer(database: Sqlite, n: number): Generator<Former> {
  const page = database.prepare<Former>(
    `select id, key, seq, at, body from former${n} where id > ? order by id limit ${pageLength}`,
  )
  for (let after = 0; ; ) {
    const rows = page.all(after)
    yield* rows
    if (rows.length < pageLength) return
    after = rows.at(-1)?.id ?? after
  }
}
