import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openOwnerStore } from '../../src/runtime/records/owner-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { BackgroundWriter } from '../../src/storage/records/writing/background-writer.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aRecordStore, messages } from '../support/a-record-store.ts'

vi.mock('../../src/storage/sqlite/sqlite.ts', { spy: true })

const foreignFiles = {
  'with tables': 'create table bookmarks (url text)',
  'with another application id': 'pragma application_id = 7',
  'with a schema version': 'pragma user_version = 1',
}

for (const [kind, setupSql] of Object.entries(foreignFiles))
  test(`a database of another application ${kind} is refused and left unchanged`, async () => {
    const file = path.join(path.dirname((await aRecordStore()).file), 'other.db')
    const other = openSqlite(file)
    other.exec(setupSql)
    other.close()
    const before = readFileSync(file)

    expect(() => openOwnerStore(file, true)).toThrow('not a records store')
    expect(() => new SqliteRecords(file, Date.now, () => {})).toThrow('not a records store')

    expect(readFileSync(file).equals(before)).toBe(true)
  })

test('a writer thread that failed does not reject the batches of its successor', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', [])
  const [file, intactCopy] = [`${store.file}.broken`, `${store.file}.whole`]
  writeFileSync(file, 'this is no database, though long enough to be one '.repeat(30))
  const database = openSqlite(store.file)
  database.exec(`vacuum into '${intactCopy}'`)
  database.close()
  const background = new BackgroundWriter(file)
  onTestFinished(() => background.close())
  const deletions = [{ key: 'm1', emittedAt: '2026-01-01T00:00:00.000Z' }]

  const retriedWrite = background.write(source, deletions).catch(() => {
    renameSync(intactCopy, file)
    return background.write(source, deletions)
  })

  await expect(retriedWrite).resolves.toMatchObject({ same: 1 })
  await expect(background.write(source, deletions)).resolves.toMatchObject({ same: 1 })
})

test('owner writes are synced to disk before they are acknowledged', async () => {
  await aRecordStore()
  const connection = vi.mocked(openSqlite).mock.results.at(-1)?.value

  // 2 is SQLite's value for FULL.
  expect(connection.prepare('pragma synchronous').get()).toEqual({ synchronous: 2 })
})
