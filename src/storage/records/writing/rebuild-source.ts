import { SetupError } from '../../../capability/setup-error.ts'
import type { Field, Stream } from '../../../sources/records/model/stream.ts'
import { toContent } from '../../../sources/records/model/to-content.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import { RecordTable } from '../rows/record-table.ts'
import { createDeclaredTables } from '../source-tables.ts'
import {
  columnTable,
  departureTable,
  fieldChangeTable,
  formerRecordTable,
  recordKeyIndex,
  recordSeqIndex,
  recordTable,
  recordValueIndex,
  segmentTable,
  staleTable,
  wordTable,
} from '../table-names.ts'
import { WordIndex } from '../words/word-index.ts'

interface FormerRow {
  readonly id: number
  readonly key: string
  readonly seq: number
  readonly at: string
  readonly body: string
}

const pageLength = 1000

/** Rewrites a source for a new declaration: the columns of its tables depend on it. */
export function rebuildSource(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  refuseOtherKey(database, n, former, stream)
  if (former.consentTimeField !== stream.consentTimeField) deleteFormerTimes(database, n)
  renumberChanges(database, n, former, stream)
  database.exec(
    `alter table ${recordTable(n)} rename to ${formerRecordTable(n)};
     drop index ${recordKeyIndex(n)};
     drop index ${recordSeqIndex(n)};
     drop table ${segmentTable(n)};
     drop table ${columnTable(n)};
     drop table ${staleTable(n)}`,
  )
  for (const { n: field, name } of former.fields)
    if (name === former.cursorField || name === former.consentTimeField)
      database.exec(`drop index ${recordValueIndex(n, field)}`)
  if (former.fields.some(({ lexical }) => lexical)) database.exec(`drop table ${wordTable(n)}`)
  createDeclaredTables(database, n, stream)
  const records = new RecordTable(database, n, stream)
  const words = new WordIndex(database, n, stream)
  for (const page of listFormerRows(database, n)) {
    for (const { id, key, seq, at, body } of page) {
      const content = toContent(stream, JSON.parse(body), body)
      records.add(id, seq, { key, emittedAt: at }, content)
      words.add(id, content.texts)
    }
    words.flush()
  }
  database.exec(`drop table ${formerRecordTable(n)}`)
}

/**
 * Records a change of the field in every record that has it. While the field was not declared, its changes
 * were neither recorded nor visible.
 */
export function markAllChanged(database: Sqlite, n: number, { n: field, name }: Field): void {
  const { changes } = database
    .prepare(
      `insert or replace into ${fieldChangeTable(n)} (id, field, seq)
       select id, ?, row_number() over (order by id)
         + (select cast(value as integer) from meta where name = 'counter')
       from ${recordTable(n)} where exists (select 1 from json_each(body) where key = ?)`,
    )
    .run(field, name)
  database
    .prepare(
      `update meta set value = cast(cast(value as integer) + ? as text) where name = 'counter'`,
    )
    .run(changes)
}

/** Records keep their keys, so an import with another primary key would add each a second time. */
function refuseOtherKey(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  if (JSON.stringify(former.primaryKey) === JSON.stringify(stream.primaryKey)) return
  if (!database.prepare<{ id: number }>(`select id from ${recordTable(n)} limit 1`).get()) return
  throw new SetupError(
    `The stream ${stream.name} has records with the primary_key ${former.primaryKey.join(', ')}. With the primary_key ${stream.primaryKey.join(', ')}, each would be imported a second time. Declare a stream with another name, or delete the records first.`,
  )
}

/** A field with a new type gets a new number; the number of its last change stays the same. */
function renumberChanges(database: Sqlite, n: number, former: Stream, stream: Stream): void {
  const renumber = database.prepare(
    `update or replace ${fieldChangeTable(n)} set field = ? where field = ?`,
  )
  for (const formerField of former.fields) {
    const field = stream.fields.find(({ name }) => name === formerField.name)
    if (field && field.n !== formerField.n) renumber.run(field.n, formerField.n)
  }
}

/** Values of the former consent time field say nothing about the ranges of the new one. */
function deleteFormerTimes(database: Sqlite, n: number): void {
  database.exec(
    `delete from ${departureTable(n)} where key in (select key from ${recordTable(n)});
     update ${departureTable(n)} set time = null`,
  )
}

function* listFormerRows(database: Sqlite, n: number): Generator<readonly FormerRow[]> {
  const page = database.prepare<FormerRow>(
    `select id, key, seq, at, body from ${formerRecordTable(n)}
     where id > ? order by id limit ${pageLength}`,
  )
  for (let after = 0; ; ) {
    const rows = page.all(after)
    yield rows
    if (rows.length < pageLength) return
    after = rows.at(-1)?.id ?? after
  }
}
