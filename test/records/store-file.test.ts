import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openOwnerStore } from '../../src/runtime/records/owner-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { BackgroundWriter } from '../../src/storage/records/writing/background-writer.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aRecordStore, messages } from '../support/a-record-store.ts'

vi.mock('../../src/storage/sqlite/sqlite.ts', { spy: true })

const foreign = {
  'with tables': 'create table bookmarks (url text)',
  'that says whose it is': 'pragma application_id = 7',
  'with a version': 'pragma user_version = 1',
}

for (const [kind, made] of Object.entries(foreign))
  test(`somebody else’s file ${kind} is refused and left as it is`, async () => {
    const file = path.join(path.dirname((await aRecordStore()).file), 'other.db')
    const other = openSqlite(file)
    other.exec(made)
    other.close()
    const before = readFileSync(file)

    expect(() => openOwnerStore(file, true)).toThrow('not a records store')
    expect(() => new SqliteRecords(file, Date.now, () => {})).toThrow('not a records store')

    expect(readFileSync(file).equals(before)).toBe(true)
  })

test('a thread that ended does not take the batches of the next one along', async () => {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', [])
  const [file, whole] = [`${store.file}.broken`, `${store.file}.whole`]
  writeFileSync(file, 'this is no database, though long enough to be one '.repeat(30))
  const copying = openSqlite(store.file)
  copying.exec(`vacuum into '${whole}'`)
  copying.close()
  const background = new BackgroundWriter(file)
  onTestFinished(() => background.close())
  const gone = [{ key: 'm1', emittedAt: '2026-01-01T00:00:00.000Z' }]

  const second = background.write(source, gone).catch(() => {
    renameSync(whole, file)
    return background.write(source, gone)
  })

  await expect(second).resolves.toMatchObject({ same: 1 })
  await expect(background.write(source, gone)).resolves.toMatchObject({ same: 1 })
})

test('what an owner writes is on the disk before it is said to be done', async () => {
  await aRecordStore()
  const connection = vi.mocked(openSqlite).mock.results.at(-1)?.value

  // SQLite's number for "full".
  expect(connection.prepare('pragma synchronous').get()).toEqual({ synchronous: 2 })
})
