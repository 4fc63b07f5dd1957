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

const rounds = amount(3, 100)
/** So many that most of the kills come while there is something left to take. */
const records = amount(8_000, 400_000)

test('an import that is killed again and again loses nothing, doubles nothing and leaves no gap', async () => {
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
    'mail.ndjson': someMessages(records)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  })
  const words = [
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
  const look = () => {
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
    const sound = database.prepare<{ integrity_check: string }>('pragma integrity_check').get()
    const lines = database
      .prepare<{ lines: number }>('select max(lines) as lines from imports')
      .get()
    database.close()
    return { sound: sound?.integrity_check, count, lines: lines?.lines ?? 0 }
  }
  let before = 0

  for (let round = 0; round < rounds; round++) {
    const { process: child, exited } = startDrawbridge(words, { cwd })
    await untilItWrites(file)
    await pause((round * 37) % 230)
    child.kill('SIGKILL')
    await exited
    const { sound, count, lines } = look()
    expect(sound).toBe('ok')
    // How far the file has come and what is in the store are one and the same.
    expect(count).toBe(lines)
    expect(count).toBeGreaterThanOrEqual(before)
    before = count
  }
  const { exited, stdout } = startDrawbridge(words, { cwd })

  expect(await exited).toBe(0)
  expect(JSON.parse(stdout())).toMatchObject({
    added: records - before,
    skipped: before,
    changed: 0,
  })
  expect(look()).toEqual({ sound: 'ok', count: records, lines: records })
}, 1_400_000)

/** On a busy machine nobody knows how long it takes to begin; one that has nothing to do never writes. */
async function untilItWrites(file: string): Promise<void> {
  const size = async () => (await stat(`${file}-wal`).catch(() => undefined))?.size ?? 0
  for (let tries = 0; tries < 1000 && (await size()) === 0; tries++) await pause(5)
}
