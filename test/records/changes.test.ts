import { expect, onTestFinished, test } from 'vitest'
import type { RequestedTerms } from '../../src/sources/records/grants/issue-tokens.ts'
import { type RecordEntry, toRecordEntry } from '../../src/sources/records/import/to-entry.ts'
import type { RecordSource } from '../../src/sources/records/model/stream.ts'
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
  const given = store.grant({ stream: 'messages', ...terms })
  const reader = await aReader(store, given.token)
  const read = async (input: Data): Promise<Page> => {
    const { data } = await reader.call('query_records', {
      stream: 'messages',
      limit: 100,
      ...input,
    })
    return data.data as unknown as Page
  }
  const since = async (changes_since = 'beginning') => {
    const { data, next_changes_since: mark = '' } = await read({ changes_since })
    return { seen: data.map(({ id, deleted }) => (deleted ? `-${id}` : id)), mark }
  }
  const put = (...records: readonly Data[]) => void store.put(messages(), 'work', records)
  return { store, source, given, reader, read, since, put }
}

const january = { since: '2026-01-01', until: '2026-02-01' }
const later = (number: number, day: string) =>
  aMessage(number, { sent_at: `2026-${day}T00:00:00.000Z` })

test('nothing new is the same bookmark again, as often as one asks', async () => {
  const { since } = await aFeed()
  const { mark } = await since()

  expect(await since(mark)).toEqual({ seen: [], mark })
  expect(await since(mark)).toEqual({ seen: [], mark })
})

test('who has seen nothing does not see that there is something else', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', [])
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const look = () =>
    reader.call('query_records', { stream: 'messages', changes_since: 'beginning' })
  const before = await look()

  store.put(messages(), 'home', someMessages(3))

  expect((await look()).text).toBe(before.text)
})

test('a bookmark and a cursor are as long as ever, however much is written that is not granted', async () => {
  const { store, since, read, put } = await aFeed()
  const ends = async () => {
    const paged = await read({ changes_since: 'beginning', limit: 5 })
    return { mark: (await since()).mark.length, cursor: paged.next_cursor?.length }
  }
  const before = await ends()
  const database = openSqlite(store.file)
  database.exec(`update meta set value = '900000000000000' where name = 'counter'`)
  database.close()
  put(aMessage(11))

  expect(await ends()).toEqual(before)
})

test('a record that goes, comes back and goes is told once, as it is now', async () => {
  const { since, put, store, source } = await aFeed()
  const { mark } = await since()
  for (let round = 0; round < 3; round += 1) {
    store.remove(source, 'm3')
    if (round < 2) put(aMessage(3, { size: round }))
  }

  const gone = await since(mark)
  put(aMessage(3))
  const back = await since(gone.mark)

  expect(gone.seen).toEqual(['-m3'])
  expect(back.seen).toEqual(['m3'])
})

test('what leaves the granted time is gone, however often it moves outside', async () => {
  const { since, put } = await aFeed(january)
  const { mark } = await since()

  put(later(3, '03-01'))
  put(later(3, '03-02'))
  put(later(3, '03-03'))
  const left = await since(mark)
  put(later(3, '03-04'))

  expect(left.seen).toEqual(['-m3'])
  expect((await since(left.mark)).seen).toEqual([])
  expect((await since()).seen).not.toContain('m3')
})

test('what comes into the granted time appears, also where the time itself is withheld', async () => {
  const { since, put } = await aFeed({ ...january, fields: ['id', 'author'] })
  put(later(50, '03-01'))
  const { mark, seen } = await since()

  put(later(50, '01-20'))
  put(later(50, '01-21'))
  const entered = await since(mark)
  put(later(50, '01-22'))

  expect(seen).not.toContain('m50')
  expect(entered.seen).toEqual(['m50'])
  expect((await since(entered.mark)).seen).toEqual([])
})

test('what is not granted moves nothing; what left and was then removed is gone once', async () => {
  const { since, put, store, source } = await aFeed({ ...january, fields: ['id', 'author'] })
  const { mark } = await since()

  put(aMessage(4, { body: 'not granted' }), later(5, '01-20'))
  put(later(6, '03-01'))
  store.remove(source, 'm6')
  put(aMessage(7, { author: 'dan' }))

  expect((await since(mark)).seen).toEqual(['-m6', 'm7'])
})

test('a session ends where it began to end, whatever changes meanwhile, and misses nothing', async () => {
  const { read, since, put } = await aFeed()
  const start = { changes_since: 'beginning', limit: 4 }

  const first = await read(start)
  put(aMessage(0, { size: 77 }), aMessage(8, { size: 88 }), aMessage(20))
  const second = await read({ ...start, cursor: first.next_cursor })
  const third = await read({ ...start, cursor: second.next_cursor })
  const after = await since(third.next_changes_since)

  const seen = [first, second, third].flatMap(({ data }) => data.map(({ id }) => id))
  expect(seen).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm9'])
  expect(third.has_more).toBe(false)
  expect(after.seen).toEqual(['m0', 'm8', 'm20'])
})

test('bookmarks and cursors of a session are not each other, nor good for another session', async () => {
  const { reader, read, since } = await aFeed()
  const { mark } = await since()
  const { next_cursor: cursor } = await read({ changes_since: 'beginning', limit: 4 })
  const refusals = [
    { changes_since: cursor },
    { changes_since: 'beginning', cursor: mark },
    { changes_since: mark, cursor },
    { cursor },
    { cursor: mark },
    { changes_since: '' },
    { changes_since: 'Beginning' },
  ]

  for (const input of refusals) {
    const { failure } = await reader.call('query_records', { stream: 'messages', ...input })
    expect(failure?.code, JSON.stringify(input)).toBe('invalid_cursor')
  }
  for (const [name, value] of Object.entries({
    filter: { size: 1 },
    sort: 'sent_at',
    count: 'exact',
  })) {
    const input = { stream: 'messages', changes_since: mark, [name]: value }
    const { failure } = await reader.call('query_records', input)
    expect(failure).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(name),
    })
  }
})

test('a bookmark lives as long as its own grant, not as that of a neighbour', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'home', someMessages(2))
  store.put(messages(), 'work', someMessages(2))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token)
  const read = async (changes_since: string) =>
    (
      await reader.call('query_records', {
        stream: 'messages',
        connection_id: 'work',
        changes_since,
      })
    ).data.data as unknown as Page
  const { next_changes_since: mark = '' } = await read('beginning')

  store.writer.revoke(given.grants[0] ?? '', Date.now())

  expect(await read(mark)).toMatchObject({ data: [], next_changes_since: mark })
})

test('after a store was put back and written to, what was seen before is gone on with, and nothing else', async () => {
  const { store, since, put, read, given } = await aFeed()
  const early = await since()
  const copy = `${store.file}.copy`
  const copying = openSqlite(store.file)
  copying.exec(`vacuum into '${copy}'`)
  copying.close()
  put(aMessage(20), aMessage(21))
  const late = await since(early.mark)
  const { next_cursor: cursor } = await read({ changes_since: early.mark, limit: 1 })
  const other = new RecordWriter(copy, Date.now)
  onTestFinished(() => other.close())
  const [source] = other.sources
  const entries = [30, 31, 32].map((n) =>
    toRecordEntry(messages(), aMessage(n), '2026-06-02T00:00:00Z'),
  )
  other.write(source as RecordSource, entries as RecordEntry[])
  const reader = await aReader({ ...store, file: copy }, given.token)
  const ask = async (input: Data) => {
    const { data, failure } = await reader.call('query_records', { stream: 'messages', ...input })
    return failure?.code ?? (data.data as unknown as Page).data.map(({ id }) => id)
  }

  expect(await ask({ changes_since: early.mark })).toEqual(['m30', 'm31', 'm32'])
  expect(await ask({ changes_since: late.mark })).toBe('cursor_expired')
  expect(await ask({ changes_since: early.mark, cursor })).toBe('cursor_expired')
})

test('after a store was put back to an earlier state, a later bookmark has expired', async () => {
  const { store, given, reader, since, put } = await aFeed()
  put(aMessage(50))
  const { mark } = await since()
  const database = openSqlite(store.file)
  database.exec(`update meta set value = '5' where name = 'counter'`)
  database.close()

  const { failure } = await reader.call('query_records', {
    stream: 'messages',
    changes_since: mark,
  })
  const response = await fetch(
    `${reader.origin}/v1/streams/messages/records?changes_since=${encodeURIComponent(mark)}`,
    { headers: { authorization: `Bearer ${given.token}` } },
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

test('a file from before its changes were found by field tells of them all the same', async () => {
  const { store, since, put } = await aFeed({ fields: ['id', 'size'] })
  const { mark } = await since()
  put(aMessage(3, { size: 33 }), aMessage(4, { author: 'eve' }))
  const file = openSqlite(store.file)
  onTestFinished(() => file.close())
  const listIndexes = () =>
    file
      .prepare<{ name: string }>(`select name from sqlite_master where name glob 'h1_*'`)
      .all()
      .map(({ name }) => name)
  const now = listIndexes()
  file.exec('drop index h1_f; create index h1_s on h1 (seq); pragma user_version = 5')

  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)

  await reader.call('query_records', { stream: 'messages', changes_since: 'beginning' })
  expect(listIndexes()).toEqual(now)
  expect((await since(mark)).seen).toEqual(['m3'])
})
