import { execFile } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { BackgroundWriter } from '../../src/runtime/records/background-writer.ts'
import { openOwnerStore } from '../../src/runtime/records/owner-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aRecordStore, messages } from '../support/a-record-store.ts'

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

test('another process that closes the file does not delete the write-ahead log of open connections', async () => {
  const file = path.join(path.dirname((await aRecordStore()).file), 'locks.db')
  const first = openSqlite(file)
  onTestFinished(() => first.close())
  first.exec('pragma journal_mode = wal')
  first.exec('create table payments (n)')
  // A second connection of this process must not drop the POSIX locks of the first.
  const second = openSqlite(file)
  onTestFinished(() => second.close())

  const driver = pathToFileURL(path.resolve('dist/storage/sqlite/sqlite.js')).href
  await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    `const { openSqlite } = await import('${driver}')
     const database = openSqlite(${JSON.stringify(file)})
     database.exec('insert into payments values (1)')
     database.close()`,
  ])
  first.exec('insert into payments values (2)')

  const later = openSqlite(file)
  onTestFinished(() => later.close())
  expect(existsSync(`${file}-wal`)).toBe(true)
  expect(later.prepare('select count(*) as n from payments').get()).toEqual({ n: 2 })
})

test('owner writes are synced to disk before they are acknowledged', async () => {
  const connections = watchConnections()

  await aRecordStore()

  // 2 is SQLite's value for FULL.
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
