import { expect, onTestFinished, test } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
import { StorageError } from '../../src/capability/storage-error.ts'
import { BackgroundWriter } from '../../src/runtime/records/background-writer.ts'
import { openOwnerStore } from '../../src/runtime/records/owner-store.ts'
import { toScopes } from '../../src/sources/records/grants/to-scopes.ts'
import { toRecordEntry } from '../../src/sources/records/import/to-entry.ts'
import { SqliteRecords } from '../../src/storage/records/sqlite-records.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aMessage,
  aReader,
  aRecordStore,
  aStream,
  type Data,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

const text = { type: 'string' }
const notes = (...names: readonly string[]) =>
  aStream('notes', {
    primary_key: 'id',
    schema: { properties: Object.fromEntries(['id', ...names].map((name) => [name, text])) },
    query: {
      search: { lexical_fields: names },
      aggregations: { group_by: names },
    },
  })
const aNote = (id: string): Data => ({ id, open: 'OPEN', secret: 'SECRET' })

async function aReadInFlight() {
  const store = await aRecordStore()
  const source = store.put(notes('open', 'secret'), 'work', [aNote('a'), aNote('b')])
  const grant = store.grant({ stream: 'notes', fields: ['id', 'open'] })
  const records = new SqliteRecords(store.file, Date.now, () => {})
  onTestFinished(() => records.close())
  const grantPackage = records.findPackage(grant.id)
  const [scope] = grantPackage ? toScopes(grantPackage, records.sources()) : []
  const field = scope?.fields.get('open')
  if (!scope || !field) throw new Error('nothing is granted')
  const listGroups = () =>
    records
      .tally(scope, { after: 0, conditions: [], group: { field }, distinct: false })
      .tallies.map(({ group }) => group)
  const find = (word: string) =>
    records.match(scope, { words: [word], fields: [field], conditions: [], below: 100, limit: 9 })
      .arrivals
  const groups = async () => {
    const reader = await aReader(store, grant.token)
    const input = { stream: 'notes', metric: 'count', group_by: 'open' }
    return JSON.stringify((await reader.call('aggregate', input)).data)
  }
  return { store, source, listGroups, find, groups }
}

test('a read that began before a stream was redeclared sees no other field', async () => {
  const { store, listGroups, find } = await aReadInFlight()

  store.writer.declare(notes('secret', 'open'))

  expect(listGroups()).toEqual(['OPEN'])
  expect(find('secret')).toEqual([])
})

test('the column number of a removed field is never reused, and is restored with the field', async () => {
  const { store, listGroups, find, groups } = await aReadInFlight()

  store.writer.declare(notes('secret'))
  store.writer.declare(notes('secret', 'other'))
  expect(listGroups).toThrow(StorageError)
  expect(() => find('secret')).toThrow(StorageError)
  store.writer.declare(notes('secret', 'other', 'open'))

  expect(listGroups()).toEqual(['OPEN'])
  expect(await groups()).toContain('OPEN')
})

test('a store from before column numbers were recorded keeps its numbers after migration', async () => {
  const { store, listGroups } = await aReadInFlight()
  const database = openSqlite(store.file)
  database.exec('drop table fields; pragma user_version = 3')
  database.close()

  const writer = openOwnerStore(store.file, false)
  writer.declare(notes('secret', 'open'))
  writer.close()

  expect(listGroups()).toEqual(['OPEN'])
})

test('a read in flight fails when the type of its field has changed', async () => {
  const { store, listGroups } = await aReadInFlight()
  const { fields, ...rest } = notes('open', 'secret')
  const retypedFields = fields.map((field) =>
    field.name === 'open' ? { ...field, type: 'integer' as const, lexical: false } : field,
  )

  store.writer.declare({ ...rest, fields: retypedFields })

  expect(listGroups).toThrow(StorageError)
})

test('changing the type of a field keeps the change history of every field', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(5))
  const { token } = store.grant({ stream: 'messages', fields: ['id', 'thread'] })
  const { readChanges } = await aChangeFeed(store, token)
  const { bookmark } = await readChanges()
  store.put(messages(), 'work', [aMessage(3, { size: 99 }), aMessage(4, { thread: '7' })])
  const { fields, ...rest } = messages()

  store.writer.declare({
    ...rest,
    fields: fields.map((field) =>
      field.name === 'thread' ? { ...field, type: 'integer' as const } : field,
    ),
  })

  expect((await readChanges(bookmark)).seen).toEqual(['m4'])
})

test('a restored field appears in the change feed of grants that include it, and in no other', async () => {
  const store = await aRecordStore()
  const put = (stream: ReturnType<typeof notes>, ...secrets: readonly string[]) =>
    store.put(
      stream,
      'work',
      secrets.map((secret, n) => ({ ...aNote(`n${n}`), secret })),
    )
  put(notes('open', 'secret'), 'one', 'two', 'three')
  const aSecretFeed = async (fields: readonly string[]) => {
    const reader = await aReader(store, store.grant({ stream: 'notes', fields }).token)
    let bookmark = 'beginning'
    return async () => {
      const input = { stream: 'notes', changes_since: bookmark }
      const { data } = await reader.call('query_records', input)
      const page = data.data as { data: { data: Data }[]; next_changes_since: string }
      bookmark = page.next_changes_since
      return page.data.map((one) => one.data.secret)
    }
  }
  const [readGranted, readOther] = [
    await aSecretFeed(['id', 'secret']),
    await aSecretFeed(['id', 'open']),
  ]
  await Promise.all([readGranted(), readOther()])

  put(notes('open'), 'one', '2', 'three')
  const changesWhileRemoved = await readGranted()
  store.writer.declare(notes('open', 'secret'))

  expect(changesWhileRemoved).toEqual([])
  expect(await readGranted()).toEqual(['one', '2', 'three'])
  expect(await readGranted()).toEqual([])
  expect(await readOther()).toEqual([])
})

test('entries built for an earlier declaration are written under the current one', async () => {
  const { store, source, groups } = await aReadInFlight()
  const background = new BackgroundWriter(store.file)
  onTestFinished(() => background.close())
  const entries = ['c', 'd'].map((id) => {
    const entry = toRecordEntry(source.stream, aNote(id), '2026-01-01T00:00:00.000Z')
    if (isFault(entry)) throw new Error(entry.fault)
    return entry
  })

  store.writer.declare(notes('secret', 'more', 'open'))
  await background.write(source, entries.slice(0, 1))
  store.writer.write(source, entries.slice(1))

  expect(store.writer.count(source)).toBe(4)
  expect(await groups()).toContain('OPEN')
  expect(await groups()).not.toContain('SECRET')
})

test('a redeclared stream reports no changes of fields that are not granted', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(5))
  const { token } = store.grant({ stream: 'messages', fields: ['id', 'author'] })
  const { readChanges } = await aChangeFeed(store, token)
  const { bookmark } = await readChanges()
  store.put(messages(), 'work', [aMessage(3, { size: 99 }), aMessage(4, { author: 'eve' })])

  store.put({ ...messages(), title: 'New title' }, 'work', [])

  expect((await readChanges(bookmark)).seen).toEqual(['m4'])
})

test('after the consent time field changes, old bookmarks are invalid and deletions stay hidden', async () => {
  const store = await aRecordStore()
  const redeclared = aStreamWithConsentTime('seen_at')
  const [deletedMessage, movedMessage] = [3, 4].map((number) =>
    aMessage(number, { seen_at: '2020-01-01T00:00:00Z' }),
  )
  const source = store.put(aStreamWithConsentTime('sent_at'), 'work', [
    deletedMessage ?? {},
    movedMessage ?? {},
  ])
  const { token } = store.grant({ stream: 'messages', since: '2026-01-01', until: '2026-02-01' })
  const unlimited = store.grant({ stream: 'messages' })
  const { readChanges, reader } = await aChangeFeed(store, token)
  const { bookmark } = await readChanges()
  store.remove(source, 'm3')
  store.put(aStreamWithConsentTime('sent_at'), 'work', [
    { ...movedMessage, sent_at: '2026-05-01T00:00:00Z' },
  ])

  store.writer.declare(redeclared)

  // Deletions under the former time field cannot be reported any more: the reader has to start again.
  const expired = await reader.call('query_records', {
    stream: 'messages',
    changes_since: bookmark,
  })
  expect(expired.failure?.code).toBe('invalid_cursor')
  expect((await readChanges()).seen).toEqual([])
  expect((await (await aChangeFeed(store, unlimited.token)).readChanges()).seen).toEqual([
    '-m3',
    'm4',
  ])
})

function aStreamWithConsentTime(consent_time_field: string) {
  const time = { type: 'string', format: 'date-time' }
  return aStream('messages', {
    primary_key: 'id',
    consent_time_field,
    schema: { properties: { id: text, sent_at: time, seen_at: time } },
  })
}

async function aChangeFeed(store: Parameters<typeof aReader>[0], token: string) {
  const reader = await aReader(store, token)
  const readChanges = async (changes_since = 'beginning') => {
    const { data } = await reader.call('query_records', { stream: 'messages', changes_since })
    const page = data.data as {
      data: readonly { id: string; deleted?: true }[]
      next_changes_since: string
    }
    return {
      seen: page.data.map(({ id, deleted }) => (deleted ? `-${id}` : id)),
      bookmark: page.next_changes_since,
    }
  }
  return { readChanges, reader }
}
