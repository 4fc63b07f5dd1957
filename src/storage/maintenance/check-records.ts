import { isUtf8 } from 'node:buffer'
import { parseJson } from '../../json/parse-json.ts'
import { verifyDisclosures } from '../records/disclosure-log.ts'
import { RecordCatalog } from '../records/record-catalog.ts'
import { checkRecordsVersion } from '../records/record-schema.ts'
import { recordTable } from '../records/table-names.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import type { Finding } from './check-files.ts'

const pageLength = 500

/** The content of a records store: its version, every record, and the log of reads. */
export function* checkRecords(database: Sqlite): Generator<Finding> {
  checkRecordsVersion(database)
  const { sources } = new RecordCatalog(database)
  for (const { n, connection, stream } of sources) {
    const damaged = [...listDamagedRecords(database, n)]
    if (damaged.length > 0)
      yield {
        severity: 'error',
        where: `${connection.id}/${stream.name}`,
        message: `${damaged.length} records cannot be read: rows ${damaged.slice(0, 10).join(', ')}`,
        next: repairStep,
      }
  }
  const broken = verifyDisclosures(database)
  if (broken !== undefined)
    yield {
      severity: 'error',
      where: 'reads',
      message: `entry ${broken} of the log of reads was changed or removed`,
      next: 'Compare the store with a backup. "drawbridge store repair" keeps the log as it is.',
    }
}

const repairStep = 'Restore a backup, or run "drawbridge store repair".'

function* listDamagedRecords(database: Sqlite, n: number): Generator<number> {
  const page = database.prepare<{ id: number; key: Uint8Array; body: Uint8Array }>(
    `select id, cast(key as blob) as key, cast(body as blob) as body from ${recordTable(n)}
     where id > ? order by id limit ${pageLength}`,
  )
  for (let after = -1, rows = page.all(after); rows.length > 0; rows = page.all(after))
    for (const { id, key, body } of rows) {
      after = id
      const bytes = Buffer.from(body)
      const isReadable = isUtf8(Buffer.from(key)) && isUtf8(bytes)
      if (!isReadable || parseJson(bytes.toString()) === undefined) yield id
    }
}
