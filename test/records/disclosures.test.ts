import { open } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Disclosure, RecordStore } from '../../src/sources/records/record-store.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aReader,
  aRecordStore,
  aStream,
  messages,
  someMessages,
} from '../support/a-record-store.ts'
import { atMost } from '../support/amount.ts'
import { eventually } from '../support/eventually.ts'

function anotherProcess(file: string) {
  const database = openSqlite(file)
  onTestFinished(() => database.close())
  return database
}

function listWarnings(): string[] {
  const said: string[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => {
    said.push(String(warning))
  })
  onTestFinished(() => spy.mockRestore())
  return said
}

test('what cannot be written down now is said, kept, and written down later', async () => {
  const troubles: unknown[] = []
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token, {
    onTrouble: (error) => troubles.push(error),
  })
  const other = anotherProcess(store.file)
  other.exec('alter table reads rename to away')

  await reader.call('query_records', { stream: 'messages' })
  await reader.call('fetch', { id: 'work:messages:m1' })
  const said = [`Error: Reads cannot be logged in ${store.file}`]
  await eventually(() => expect(troubles.map(String)).toEqual(said))
  other.exec('alter table away rename to reads')

  await eventually(() =>
    expect(store.writer.listDisclosures(given.id).records.length).toBeGreaterThan(0),
  )
  expect(store.writer.listDisclosures(given.id).records[0]?.entry.tool).toBe('query_records')
})

test('what was read is soon on the disk, and not by a thread that serves', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token)
  const handle = await open(store.file)
  const synced = vi.spyOn(Object.getPrototypeOf(handle), 'datasync')
  onTestFinished(() => synced.mockRestore())
  await handle.close()

  await reader.call('query_records', { stream: 'messages' })

  await eventually(() => expect(synced).toHaveBeenCalledTimes(1))
  await synced.mock.results[0]?.value
  expect(store.writer.listDisclosures(given.id).records).toHaveLength(1)
})

test('a store that is closed while the disk is slow has nothing to complain of', async () => {
  const warnings = listWarnings()
  const store = await aRecordStore()
  const reads = new SqliteRecords(store.file, Date.now, () => {})
  const read = { grant: 'g', tool: 'fetch', connection: 'c', stream: 's', fields: [], records: [] }
  const handle = await open(store.file)
  let goOn = () => {}
  const slow = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const synced = vi.spyOn(Object.getPrototypeOf(handle), 'datasync').mockImplementation(() => slow)
  onTestFinished(() => synced.mockRestore())
  await handle.close()

  reads.disclose({ package: 'p', ...read })
  await eventually(() => expect(synced).toHaveBeenCalledTimes(1))
  reads.disclose({ package: 'p', ...read })
  reads.close()
  goOn()

  await eventually(() => expect(synced).toHaveBeenCalledTimes(2))
  expect(store.writer.listDisclosures('p').records).toHaveLength(2)
  expect(warnings).toEqual([])
})

test('while too much waits to be written down nothing is given out, and nobody waits', async () => {
  listWarnings()
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  const given = store.grant({ stream: 'messages' })
  // Each counts a thousand times.
  const around = (plain: RecordStore) => ({
    disclose: (entry: Disclosure) => {
      for (let n = 0; n < 1000; n++) plain.disclose(entry)
    },
  })
  const reader = await aReader(store, given.token, { around })
  const other = anotherProcess(store.file)
  other.exec('begin immediate')
  const search = () => reader.call('search', { q: 'invoice' })

  for (let n = 0; n < 10; n++) expect((await search()).isError).toBe(false)
  const start = performance.now()
  const refused = await search()
  expect(refused.failure).toMatchObject({ code: 'timed_out', retryable: true })
  expect(performance.now() - start).toBeLessThan(atMost(1000))

  other.exec('rollback')
  const count = other.prepare<{ count: number }>('select count(*) as count from reads')
  await eventually(() => expect(count.get()?.count).toBe(10_000))
  expect(store.writer.listDisclosures(given.id).records).toHaveLength(10_000)
  expect(store.writer.listDisclosures(given.id).broken).toBeUndefined()
  expect((await search()).isError).toBe(false)
})

const threads = (stream = 'messages') =>
  aStream('threads', {
    primary_key: 'id',
    schema: { type: 'object', properties: { id: { type: 'string' } } },
    relationships: [{ name: stream, stream, foreign_key: 'thread', cardinality: 'has_many' }],
    query: { expand: [stream] },
  })

test('what is given out inside of other records is written down where it is from', async () => {
  const store = await aRecordStore()
  store.put(
    messages(),
    'work',
    someMessages(4, (n) => ({ thread: `t${n % 2}` })),
  )
  store.put(threads(), 'work', [{ id: 't0' }, { id: 't1' }])
  const given = store.grant({ stream: 'messages' }, { stream: 'threads' })
  const reader = await aReader(store, given.token)
  const headers = { authorization: `Bearer ${given.token}` }

  await reader.call('query_records', { stream: 'threads', expand: ['messages'] })
  for (const path of ['records', 'records/t1'])
    await fetch(`${reader.origin}/v1/streams/threads/${path}?expand=messages`, { headers })

  const listExpanded = () =>
    store.writer
      .listDisclosures(given.id)
      .records.map(({ entry }) => entry)
      .filter(({ stream }) => stream === 'messages')
  await eventually(() => expect(listExpanded()).toHaveLength(3))
  expect(listExpanded().map(({ records }) => records.length)).toEqual([4, 4, 2])
  expect(listExpanded()[0]?.fields).toContain('body')
})

const notes = (title: string) =>
  aStream('notes', {
    title,
    primary_key: 'id',
    schema: {
      type: 'object',
      properties: { id: { type: 'string' }, thread: { type: 'string' } },
    },
  })

test('what is expanded is found by an index, however the streams came', async () => {
  const store = await aRecordStore()
  const listIndexes = () =>
    anotherProcess(store.file)
      .prepare<{ name: string }>(`select name from sqlite_master where name like 'r%x%'`)
      .all()
  const some = Array.from({ length: 4000 }, (_, n) => ({ id: `n${n}`, thread: `t${n % 100}` }))
  store.put(notes('Notes'), 'work', some)
  store.put(
    threads('notes'),
    'work',
    Array.from({ length: 100 }, (_, n) => ({ id: `t${n}` })),
  )
  expect(listIndexes()).toHaveLength(1)
  store.writer.declare(notes('My notes'))
  expect(listIndexes()).toHaveLength(1)
  anotherProcess(store.file).exec(`drop index ${listIndexes()[0]?.name}; pragma user_version = 4`)
  const given = store.grant({ stream: 'notes' }, { stream: 'threads' })
  let slices = 0
  const around = (plain: RecordStore) => ({
    slice: (...query: Parameters<RecordStore['slice']>) => {
      slices++
      return plain.slice(...query)
    },
  })
  const reader = await aReader(store, given.token, { around })

  const { data } = await reader.call('query_records', {
    stream: 'threads',
    limit: 100,
    expand: ['notes'],
    expand_limit: { notes: 50 },
  })

  expect(listIndexes()).toHaveLength(1)
  const { data: found } = data.data as { data: { expanded: { notes: { data: unknown[] } } }[] }
  expect(found.map(({ expanded }) => expanded.notes.data.length)).toEqual(Array(100).fill(40))
  expect(slices).toBeLessThan(110)
})

test('a read in flight ends when its grant is revoked', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3000))
  const given = store.grant({ stream: 'messages' })
  const around = (plain: RecordStore) => ({
    slice: (...query: Parameters<RecordStore['slice']>) => {
      store.writer.revoke(given.id, Date.now())
      return plain.slice(...query)
    },
  })
  const reader = await aReader(store, given.token, { around })

  const response = await fetch(
    `${reader.origin}/v1/streams/messages/records?filter[author]=nobody`,
    { headers: { authorization: `Bearer ${given.token}` } },
  )

  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ error: { code: 'grant_revoked' } })
})
