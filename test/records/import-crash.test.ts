import { stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { RecordWriter } from '../../src/storage/records/writing/record-writer.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aProject } from '../support/a-project.ts'
import { messages, someMessages } from '../support/a-record-store.ts'
import { amount } from '../support/amount.ts'
import { startDrawbridge } from '../support/run-cli.ts'
import { tallyBoth } from '../support/tally-both.ts'

const killCount = amount(3, 100)
/** Large enough that most kills happen before the import has finished. */
const recordCount = amount(8_000, 400_000)

test('an import killed repeatedly with SIGKILL loses no record, duplicates none and leaves no gap', async () => {
  const stream = messages()
  const declaration = {
    streams: {
      messages: {
        connector: 'mail',
        primary_key: stream.primaryKey,
        cursor_field: 'sent_at',
        consent_time_field: 'sent_at',
        schema: stream.schema,
        query: { search: { lexical_fields: ['author', 'body'] } },
      },
    },
  }
  const cwd = await aProject({
    'streams.yaml': JSON.stringify(declaration),
    'mail.ndjson': someMessages(recordCount)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  })
  const args = [
    'records',
    'import',
    'mail.ndjson',
    '--streams',
    'streams.yaml',
    '--connection',
    'work',
    '--json',
  ]
  const file = path.join(cwd, 'personal.db')
  const inspectStore = () => {
    const writer = new RecordWriter(file, Date.now)
    const [source] = writer.sources
    const count = source ? writer.count(source) : 0
    writer.close()
    if (source) {
      const reads = new SqliteRecords(file, Date.now, () => {})
      const fields = new Map(source.stream.fields.map((field) => [field.name, field]))
      const author = fields.get('author')
      const size = fields.get('size')
      const { columns, rows } = tallyBoth(
        reads,
        { source, grant: 'grant', fields },
        {
          conditions: [],
          ...(author && { group: { field: author } }),
          ...(size && { field: size }),
          distinct: false,
        },
      )
      reads.close()
      expect(columns).toEqual(rows)
    }
    const database = openSqlite(file)
    const integrity = database.prepare<{ integrity_check: string }>('pragma integrity_check').get()
    const lines = database
      .prepare<{ lines: number }>('select max(lines) as lines from imports')
      .get()
    database.close()
    return { integrity: integrity?.integrity_check, count, lines: lines?.lines ?? 0 }
  }
  let previousCount = 0

  for (let round = 0; round < killCount; round++) {
    const { process: child, exited } = startDrawbridge(args, { cwd })
    await waitForFirstWrite(file)
    await pause((round * 37) % 230)
    child.kill('SIGKILL')
    await exited
    const { integrity, count, lines } = inspectStore()
    expect(integrity).toBe('ok')
    // The import position and the records are committed in one transaction.
    expect(count).toBe(lines)
    expect(count).toBeGreaterThanOrEqual(previousCount)
    previousCount = count
  }
  const { exited, stdout } = startDrawbridge(args, { cwd })

  expect(await exited).toBe(0)
  expect(JSON.parse(stdout())).toMatchObject({
    added: recordCount - previousCount,
    skipped: previousCount,
    changed: 0,
  })
  expect(inspectStore()).toEqual({ integrity: 'ok', count: recordCount, lines: recordCount })
}, 1_400_000)

/** Start-up time varies with load, and an import with nothing left to do never writes: stop polling after 5 seconds. */
async function waitForFirstWrite(file: string): Promise<void> {
  const walBytes = async () => (await stat(`${file}-wal`).catch(() => undefined))?.size ?? 0
  for (let tries = 0; tries < 1000 && (await walBytes()) === 0; tries++) await pause(5)
}
