import { expect, onTestFinished, test } from 'vitest'
import type { RequestedTerms } from '../../src/sources/records/grants/issue-tokens.ts'
import { toRecordEntry } from '../../src/sources/records/import/to-entry.ts'
import type { RecordSource } from '../../src/sources/records/model/stream.ts'
import type { RecordEntry } from '../../src/sources/records/record-sink.ts'
import { RecordWriter } from '../../src/storage/records/writing/record-writer.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aMessage,
  aReader,
  aRecordStore,
  type Data,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

interface Page {
  readonly data: readonly { id: string; deleted?: true; data?: Data }[]
  readonly next_cursor?: string
  readonly next_changes_since?: string
  readonly has_more: boolean
}

async function aFeed(terms: Partial<RequestedTerms> = {}) {
  const store = await aRecordStore()
  const source = store.put(messages(), 'work', someMessages(10))
  const grant = store.grant({ stream: 'messages', ...terms })
  const reader = await aReader(store, grant.token)
  const read = async (input: Data): Promise<Page> => {
    const { data } = await reader.call('query_records', {
      stream: 'messages',
      limit: 100,
      ...input,
    })
    return data.data as unknown as Page
  }
  const readChanges = async (changes_since = 'beginning') => {
    const { data, next_changes_since: bookmark = '' } = await read({ changes_since })
    return { seen: data.map(({ id, deleted }) => (deleted ? `-${id}` : id)), bookmark }
  }
  const put = (...records: readonly Data[]) => void store.put(messages(), 'work', records)
  return { store, source, grant, reader, read, readChanges, put }
}

const inJanuary = { since: '2026-01-01', until: '2026-02-01' }
const aMessageSentOn = (number: number, day: string) =>
  aMessage(number, { sent_at: `2026-${day}T00:00:00.000Z` })

test('a change feed without changes returns the same bookmark every time', async () => {
  const { readChanges } = await aFeed()
  const { bookmark } = await readChanges()

  expect(await readChanges(bookmark)).toEqual({ seen: [], bookmark })
  expect(await readChanges(bookmark)).toEqual({ seen: [], bookmark })
})

test('an empty change feed does not reveal that another connection has records', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', [])
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const readFeed = () =>
    reader.call('query_records', { stream: 'messages', changes_since: 'beginning' })
  const before = await readFeed()

  store.put(messages(), 'home', someMessages(3))

  expect((await readFeed()).text).toBe(before.text)
})

test('the length of bookmarks and cursors does not reveal the write counter', async () => {
  const { store, readChanges, read, put } = await aFeed()
  const measureLengths = async () => {
    const paged = await read({ changes_since: 'beginning', limit: 5 })
    return { bookmark: (await readChanges()).bookmark.length, cursor: paged.next_cursor?.length }
  }
  const before = await measureLengths()
  const database = openSqlite(store.file)
  database.exec(`update meta set value = '900000000000000' where name = 'counter'`)
  database.close()
  put(aMessage(11))

  expect(await measureLengths()).toEqual(before)
})

test('a record deleted and restored repeatedly is reported once in its current state', async () => {
  const { readChanges, put, store, source } = await aFeed()
  const { bookmark } = await readChanges()
  for (let round = 0; round < 3; round += 1) {
    store.remove(source, 'm3')
    if (round < 2) put(aMessage(3, { size: round }))
  }

  const afterDeletion = await readChanges(bookmark)
  put(aMessage(3))
  const afterRestore = await readChanges(afterDeletion.bookmark)

  expect(afterDeletion.seen).toEqual(['-m3'])
  expect(afterRestore.seen).toEqual(['m3'])
})

test('a record that leaves the granted time range is reported as deleted once', async () => {
  const { readChanges, put } = await aFeed(inJanuary)
  const { bookmark } = await readChanges()

  put(aMessageSentOn(3, '03-01'))
  put(aMessageSentOn(3, '03-02'))
  put(aMessageSentOn(3, '03-03'))
  const afterLeaving = await readChanges(bookmark)
  put(aMessageSentOn(3, '03-04'))

  expect(afterLeaving.seen).toEqual(['-m3'])
  expect((await readChanges(afterLeaving.bookmark)).seen).toEqual([])
  expect((await readChanges()).seen).not.toContain('m3')
})

test('a record that enters the granted time range appears, even when the time field is not granted', async () => {
  const { readChanges, put } = await aFeed({ ...inJanuary, fields: ['id', 'author'] })
  put(aMessageSentOn(50, '03-01'))
  const { bookmark, seen } = await readChanges()

  put(aMessageSentOn(50, '01-20'))
  put(aMessageSentOn(50, '01-21'))
  const afterEntering = await readChanges(bookmark)
  put(aMessageSentOn(50, '01-22'))

  expect(seen).not.toContain('m50')
  expect(afterEntering.seen).toEqual(['m50'])
  expect((await readChanges(afterEntering.bookmark)).seen).toEqual([])
})

test('changes that are not granted are not reported; a record that left and was deleted is reported once', async () => {
  const { readChanges, put, store, source } = await aFeed({
    ...inJanuary,
    fields: ['id', 'author'],
  })
  const { bookmark } = await readChanges()

  put(aMessage(4, { body: 'not granted' }), aMessageSentOn(5, '01-20'))
  put(aMessageSentOn(6, '03-01'))
  store.remove(source, 'm6')
  put(aMessage(7, { author: 'dan' }))

  expect((await readChanges(bookmark)).seen).toEqual(['-m6', 'm7'])
})

test('a paged change feed ends at its starting snapshot, and later changes follow in the next one', async () => {
  const { read, readChanges, put } = await aFeed()
  const start = { changes_since: 'beginning', limit: 4 }

  const first = await read(start)
  put(aMessage(0, { size: 77 }), aMessage(8, { size: 88 }), aMessage(20))
  const second = await read({ ...start, cursor: first.next_cursor })
  const third = await read({ ...start, cursor: second.next_cursor })
  const next = await readChanges(third.next_changes_since)

  const seen = [first, second, third].flatMap(({ data }) => data.map(({ id }) => id))
  expect(seen).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm9'])
  expect(third.has_more).toBe(false)
  expect(next.seen).toEqual(['m0', 'm8', 'm20'])
})

test('bookmarks and cursors are not interchangeable, nor valid for another session', async () => {
  const { reader, read, readChanges } = await aFeed()
  const { bookmark } = await readChanges()
  const { next_cursor: cursor } = await read({ changes_since: 'beginning', limit: 4 })
  const invalidInputs = [
    { changes_since: cursor },
    { changes_since: 'beginning', cursor: bookmark },
    { changes_since: bookmark, cursor },
    { cursor },
    { cursor: bookmark },
    { changes_since: '' },
    { changes_since: 'Beginning' },
  ]

  for (const input of invalidInputs) {
    const { failure } = await reader.call('query_records', { stream: 'messages', ...input })
    expect(failure?.code, JSON.stringify(input)).toBe('invalid_cursor')
  }
  for (const [name, value] of Object.entries({
    filter: { size: 1 },
    sort: 'sent_at',
    count: 'exact',
  })) {
    const input = { stream: 'messages', changes_since: bookmark, [name]: value }
    const { failure } = await reader.call('query_records', input)
    expect(failure).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(name),
    })
  }
})

test('a bookmark stays valid when the grant of another connection is revoked', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'home', someMessages(2))
  store.put(messages(), 'work', someMessages(2))
  const grant = store.grant({ stream: 'messages' })
  const reader = await aReader(store, grant.token)
  const read = async (changes_since: string) =>
    (
      await reader.call('query_records', {
        stream: 'messages',
        connection_id: 'work',
        changes_since,
      })
    ).data.data as unknown as Page
  const { next_changes_since: bookmark = '' } = await read('beginning')

  store.writer.revoke(grant.grants[0] ?? '', Date.now())

  expect(await read(bookmark)).toMatchObject({ data: [], next_changes_since: bookmark })
})

test('after a restore from backup, bookmarks from before the backup continue and later ones expire', async () => {
  const { store, readChanges, put, read, grant } = await aFeed()
  const beforeBackup = await readChanges()
  const copy = `${store.file}.copy`
  const original = openSqlite(store.file)
  original.exec(`vacuum into '${copy}'`)
  original.close()
  put(aMessage(20), aMessage(21))
  const afterBackup = await readChanges(beforeBackup.bookmark)
  const { next_cursor: cursor } = await read({ changes_since: beforeBackup.bookmark, limit: 1 })
  const restored = new RecordWriter(copy, Date.now)
  onTestFinished(() => restored.close())
  const [source] = restored.sources
  const entries = [30, 31, 32].map((n) =>
    toRecordEntry(messages(), aMessage(n), '2026-06-02T00:00:00Z'),
  )
  restored.write(source as RecordSource, entries as RecordEntry[])
  const reader = await aReader({ ...store, file: copy }, grant.token)
  const ask = async (input: Data) => {
    const { data, failure } = await reader.call('query_records', { stream: 'messages', ...input })
    return failure?.code ?? (data.data as unknown as Page).data.map(({ id }) => id)
  }

  expect(await ask({ changes_since: beforeBackup.bookmark })).toEqual(['m30', 'm31', 'm32'])
  expect(await ask({ changes_since: afterBackup.bookmark })).toBe('cursor_expired')
  expect(await ask({ changes_since: beforeBackup.bookmark, cursor })).toBe('cursor_expired')
})

test('a bookmark newer than the restored store has expired', async () => {
  const { store, grant, reader, readChanges, put } = await aFeed()
  put(aMessage(50))
  const { bookmark } = await readChanges()
  const database = openSqlite(store.file)
  database.exec(`update meta set value = '5' where name = 'counter'`)
  database.close()

  const { failure } = await reader.call('query_records', {
    stream: 'messages',
    changes_since: bookmark,
  })
  const response = await fetch(
    `${reader.origin}/v1/streams/messages/records?changes_since=${encodeURIComponent(bookmark)}`,
    { headers: { authorization: `Bearer ${grant.token}` } },
  )

  expect(failure).toMatchObject({
    code: 'cursor_expired',
    message: expect.stringContaining('beginning'),
  })
  expect(response.status).toBe(410)
  expect(await response.json()).toMatchObject({
    error: { type: 'gone_error', code: 'cursor_expired' },
  })
})

test('a store without the per-field change index is migrated and reports its changes', async () => {
  const { store, readChanges, put } = await aFeed({ fields: ['id', 'size'] })
  const { bookmark } = await readChanges()
  put(aMessage(3, { size: 33 }), aMessage(4, { author: 'eve' }))
  const file = openSqlite(store.file)
  onTestFinished(() => file.close())
  const listIndexes = () =>
    file
      .prepare<{ name: string }>(`select name from sqlite_master where name glob 'h1_*'`)
      .all()
      .map(({ name }) => name)
  const currentIndexes = listIndexes()
  file.exec('drop index h1_f; create index h1_s on h1 (seq); pragma user_version = 5')

  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)

  await reader.call('query_records', { stream: 'messages', changes_since: 'beginning' })
  expect(listIndexes()).toEqual(currentIndexes)
  expect((await readChanges(bookmark)).seen).toEqual(['m3'])
})
