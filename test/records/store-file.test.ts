import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openOwnerStore } from '../../src/runtime/records/owner-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { BackgroundWriter } from '../../src/storage/records/writing/background-writer.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aRecordStore, messages } from '../support/a-record-store.ts'

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
  const connections = watchConnections()

  await aRecordStore()

  // SQLite's number for "full".
  expect(connections.at(-1)?.prepare('pragma synchronous').get()).toMatchObject({ synchronous: 2 })
})

interface Connection {
  exec(this: Connection, text: string): unknown
  prepare(text: string): { get(): unknown }
}

/** The driver's own connections that statements are run on from now on, the latest last. */
function watchConnections(): readonly Connection[] {
  type Driver = { readonly prototype: Connection }
  const builtIn = process.getBuiltinModule?.('node:sqlite') as { DatabaseSync: Driver } | undefined
  const { prototype } =
    builtIn?.DatabaseSync ?? (createRequire(import.meta.url)('libsql') as Driver)
  const { exec } = prototype
  const connections: Connection[] = []
  prototype.exec = function (text) {
    connections.push(this)
    return exec.call(this, text)
  }
  onTestFinished(() => {
    prototype.exec = exec
  })
  return connections
}
