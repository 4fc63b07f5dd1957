import { isPlainObject } from '../../json/is-plain-object.ts'
import { parseJson } from '../../json/parse-json.ts'
import type { RecordSource } from '../../sources/records/model/stream.ts'
import { toContent } from '../../sources/records/model/to-content.ts'
import { SegmentWriter } from '../records/columns/segment-writer.ts'
import { RecordCatalog } from '../records/record-catalog.ts'
import { RecordTable } from '../records/rows/record-table.ts'
import { createSourceTables } from '../records/source-tables.ts'
import { departureTable, fieldChangeTable, recordTable } from '../records/table-names.ts'
import { WordIndex } from '../records/words/word-index.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { copyRows, type Repair } from './repair.ts'
import { salvageTable } from './salvage-table.ts'

/**
 * Copies what can be read of a records store into a new one. Columns, the full-text index and the column
 * segments are built again from the bodies of the records.
 */
export function repairRecords({ damaged, fresh, onLost, onSaved }: Repair): void {
  const tables = listTables(fresh)
  for (const table of tables) copyRows({ damaged, fresh, onLost, onSaved }, table)
  for (const source of new RecordCatalog(fresh).sources) {
    createSourceTables(fresh, source.n, source.stream)
    repairRecordTable({ damaged, fresh, onLost, onSaved }, source)
    for (const table of [fieldChangeTable(source.n), departureTable(source.n)])
      copyRows({ damaged, fresh, onLost, onSaved }, table.text)
    raiseCounter(fresh, source.n)
    new SegmentWriter(fresh).maintain(source.n, source.stream)
  }
}

/** The tables that every records store has. */
const listTables = (fresh: Sqlite): readonly string[] =>
  fresh
    .prepare<{ name: string }>(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by rowid`,
    )
    .all()
    .map(({ name }) => name)

function repairRecordTable(
  { damaged, fresh, onLost, onSaved }: Repair,
  source: RecordSource,
): void {
  const { n, stream } = source
  const table = recordTable(n).text
  const records = new RecordTable(fresh, n, stream)
  const words = new WordIndex(fresh, n, stream)
  let pending = 0
  for (const { id, key, seq, at, body } of salvageTable(damaged, toLayout(table), onLost)) {
    const data = parseJson(String(body))
    if (!isPlainObject(data)) {
      onLost({ table, key: String(key), reason: 'its body is not JSON' })
      continue
    }
    try {
      const content = toContent(stream, data, String(body))
      records.add(Number(id), Number(seq), { key: String(key), emittedAt: String(at) }, content)
      words.add(Number(id), content.texts)
      if (++pending % pageLength === 0) words.flush()
      onSaved(table)
    } catch (error) {
      onLost({ table, key: String(key), reason: (error as Error).message })
    }
  }
  words.flush()
}

const pageLength = 1000

/** The columns that do not depend on the declaration. */
const toLayout = (table: string) => ({
  table,
  key: ['id'],
  columns: [
    { name: 'id', type: 'INTEGER' },
    { name: 'key', type: 'TEXT' },
    { name: 'seq', type: 'INTEGER' },
    { name: 'at', type: 'TEXT' },
    { name: 'body', type: 'TEXT' },
  ],
})

/** A counter behind the records would give numbers twice, and bookmarks would miss changes. */
const raiseCounter = (fresh: Sqlite, n: number): void =>
  fresh.exec(
    `update meta set value = cast(max(cast(value as integer),
       (select coalesce(max(seq), 0) from ${recordTable(n)}),
       (select coalesce(max(seq), 0) from ${fieldChangeTable(n)}),
       (select coalesce(max(seq), 0) from ${departureTable(n)})) as text)
     where name = 'counter'`,
  )
