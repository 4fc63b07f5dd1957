import { expect, onTestFinished, test, vi } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite.ts'
import { SqliteRecords } from '../../src/storage/sqlite-records.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'

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

function eachDisclosureCounts(times: number): void {
  const { disclose } = SqliteRecords.prototype
  const spy = vi.spyOn(SqliteRecords.prototype, 'disclose').mockImplementation(function (
    this: SqliteRecords,
    entry,
  ) {
    for (let n = 0; n < times; n++) disclose.call(this, entry)
  })
  onTestFinished(() => spy.mockRestore())
}

test('what cannot be written down now is said, kept, and written down later', async () => {
  const warnings = listWarnings()
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token)
  const other = anotherProcess(store.file)
  other.exec('alter table reads rename to away')

  await reader.call('query_records', { stream: 'messages' })
  await reader.call('fetch', { id: 'work:messages:m1' })
  await vi.waitFor(() => expect(warnings).toHaveLength(1))
  expect(warnings[0]).toContain('cannot be written down')
  other.exec('alter table away rename to reads')

  await vi.waitFor(() => expect(store.writer.reads(given.id).records.length).toBeGreaterThan(0), {
    timeout: 1500,
  })
  expect(store.writer.reads(given.id).records[0]?.entry.tool).toBe('query_records')
})

test('while too much waits to be written down nothing is given out, and nobody waits', async () => {
  listWarnings()
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token)
  const other = anotherProcess(store.file)
  other.exec('begin immediate')
  const search = () => reader.call('search', { q: 'invoice' })
  eachDisclosureCounts(1000)

  for (let n = 0; n < 10; n++) expect((await search()).isError).toBe(false)
  const start = performance.now()
  const refused = await search()
  expect(refused.failure).toMatchObject({ code: 'timed_out', retryable: true })
  expect(performance.now() - start).toBeLessThan(1000)

  other.exec('rollback')
  await vi.waitFor(() => expect(store.writer.reads(given.id).records).toHaveLength(10_000), {
    timeout: 4000,
    interval: 200,
  })
  expect(store.writer.reads(given.id).broken).toBeUndefined()
  expect((await search()).isError).toBe(false)
})
