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

function aSecondConnection(file: string) {
  const database = openSqlite(file)
  onTestFinished(() => database.close())
  return database
}

function listWarnings(): string[] {
  const warnings: string[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => {
    warnings.push(String(warning))
  })
  onTestFinished(() => spy.mockRestore())
  return warnings
}

test('a disclosure that cannot be logged is reported, kept in memory and written later', async () => {
  const errors: unknown[] = []
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const grant = store.grant({ stream: 'messages' })
  const reader = await aReader(store, grant.token, {
    onOperationalError: (error) => errors.push(error),
  })
  const other = aSecondConnection(store.file)
  other.exec('alter table reads rename to hidden_reads')

  await reader.call('query_records', { stream: 'messages' })
  await reader.call('fetch', { id: 'work:messages:m1' })
  const expected = [`Error: Reads cannot be logged in ${store.file}`]
  await eventually(() => expect(errors.map(String)).toEqual(expected))
  other.exec('alter table hidden_reads rename to reads')

  await eventually(() =>
    expect(store.writer.listDisclosures(grant.id).records.length).toBeGreaterThan(0),
  )
  expect(store.writer.listDisclosures(grant.id).records[0]?.entry.tool).toBe('query_records')
})

test('logged reads are synced to disk soon, without blocking the serving thread', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const grant = store.grant({ stream: 'messages' })
  const reader = await aReader(store, grant.token)
  const handle = await open(store.file)
  const datasync = vi.spyOn(Object.getPrototypeOf(handle), 'datasync')
  onTestFinished(() => datasync.mockRestore())
  await handle.close()

  await reader.call('query_records', { stream: 'messages' })

  await eventually(() => expect(datasync).toHaveBeenCalledTimes(1))
  await datasync.mock.results[0]?.value
  expect(store.writer.listDisclosures(grant.id).records).toHaveLength(1)
})

test('closing a store during a slow sync emits no warning and keeps all disclosures', async () => {
  const warnings = listWarnings()
  const store = await aRecordStore()
  const reads = new SqliteRecords(store.file, Date.now, () => {})
  const read = { grant: 'g', tool: 'fetch', connection: 'c', stream: 's', fields: [], records: [] }
  const handle = await open(store.file)
  let finishSync = () => {}
  const slowSync = new Promise<void>((resolve) => {
    finishSync = resolve
  })
  const datasync = vi
    .spyOn(Object.getPrototypeOf(handle), 'datasync')
    .mockImplementation(() => slowSync)
  onTestFinished(() => datasync.mockRestore())
  await handle.close()

  reads.disclose({ package: 'p', ...read })
  await eventually(() => expect(datasync).toHaveBeenCalledTimes(1))
  reads.disclose({ package: 'p', ...read })
  reads.close()
  finishSync()

  await eventually(() => expect(datasync).toHaveBeenCalledTimes(2))
  expect(store.writer.listDisclosures('p').records).toHaveLength(2)
  expect(warnings).toEqual([])
})

test('reads are refused at once while the disclosure queue is full', async () => {
  listWarnings()
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  const grant = store.grant({ stream: 'messages' })
  // A thousand entries for each read fill the queue quickly.
  const overrides = (plain: RecordStore) => ({
    disclose: (entry: Disclosure) => {
      for (let n = 0; n < 1000; n++) plain.disclose(entry)
    },
  })
  const reader = await aReader(store, grant.token, { overrides })
  const other = aSecondConnection(store.file)
  other.exec('begin immediate')
  const search = () => reader.call('search', { q: 'invoice' })

  for (let n = 0; n < 10; n++) expect((await search()).isError).toBe(false)
  const startMs = performance.now()
  const rejection = await search()
  expect(rejection.failure).toMatchObject({ code: 'timed_out', retryable: true })
  expect(performance.now() - startMs).toBeLessThan(atMost(1000))

  other.exec('rollback')
  const count = other.prepare<{ count: number }>('select count(*) as count from reads')
  await eventually(() => expect(count.get()?.count).toBe(10_000))
  expect(store.writer.listDisclosures(grant.id).records).toHaveLength(10_000)
  expect(store.writer.listDisclosures(grant.id).broken).toBeUndefined()
  expect((await search()).isError).toBe(false)
})

const threads = (stream = 'messages') =>
  aStream('threads', {
    primary_key: 'id',
    schema: { type: 'object', properties: { id: { type: 'string' } } },
    relationships: [{ name: stream, stream, foreign_key: 'thread', cardinality: 'has_many' }],
    query: { expand: [stream] },
  })

test('expanded records are logged as disclosures of their own stream', async () => {
  const store = await aRecordStore()
  store.put(
    messages(),
    'work',
    someMessages(4, (n) => ({ thread: `t${n % 2}` })),
  )
  store.put(threads(), 'work', [{ id: 't0' }, { id: 't1' }])
  const grant = store.grant({ stream: 'messages' }, { stream: 'threads' })
  const reader = await aReader(store, grant.token)
  const headers = { authorization: `Bearer ${grant.token}` }

  await reader.call('query_records', { stream: 'threads', expand: ['messages'] })
  for (const path of ['records', 'records/t1'])
    await fetch(`${reader.origin}/v1/streams/threads/${path}?expand=messages`, { headers })

  const listExpanded = () =>
    store.writer
      .listDisclosures(grant.id)
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

test('expand uses an index, in whatever order the streams were declared', async () => {
  const store = await aRecordStore()
  const listIndexes = () =>
    aSecondConnection(store.file)
      .prepare<{ name: string }>(`select name from sqlite_master where name like 'r%x%'`)
      .all()
  const records = Array.from({ length: 4000 }, (_, n) => ({ id: `n${n}`, thread: `t${n % 100}` }))
  store.put(notes('Notes'), 'work', records)
  store.put(
    threads('notes'),
    'work',
    Array.from({ length: 100 }, (_, n) => ({ id: `t${n}` })),
  )
  expect(listIndexes()).toHaveLength(1)
  store.writer.declare(notes('My notes'))
  expect(listIndexes()).toHaveLength(1)
  aSecondConnection(store.file).exec(
    `drop index ${listIndexes()[0]?.name}; pragma user_version = 4`,
  )
  const grant = store.grant({ stream: 'notes' }, { stream: 'threads' })
  let slices = 0
  const overrides = (plain: RecordStore) => ({
    slice: (...query: Parameters<RecordStore['slice']>) => {
      slices++
      return plain.slice(...query)
    },
  })
  const reader = await aReader(store, grant.token, { overrides })

  const { data } = await reader.call('query_records', {
    stream: 'threads',
    limit: 100,
    expand: ['notes'],
    expand_limit: { notes: 50 },
  })

  expect(listIndexes()).toHaveLength(1)
  const { data: threadRecords } = data.data as {
    data: { expanded: { notes: { data: unknown[] } } }[]
  }
  expect(threadRecords.map(({ expanded }) => expanded.notes.data.length)).toEqual(
    Array(100).fill(40),
  )
  expect(slices).toBeLessThan(110)
})

test('a read in flight ends when its grant is revoked', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3000))
  const grant = store.grant({ stream: 'messages' })
  const overrides = (plain: RecordStore) => ({
    slice: (...query: Parameters<RecordStore['slice']>) => {
      store.writer.revoke(grant.id, Date.now())
      return plain.slice(...query)
    },
  })
  const reader = await aReader(store, grant.token, { overrides })

  const response = await fetch(
    `${reader.origin}/v1/streams/messages/records?filter[author]=nobody`,
    { headers: { authorization: `Bearer ${grant.token}` } },
  )

  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ error: { code: 'grant_revoked' } })
})
