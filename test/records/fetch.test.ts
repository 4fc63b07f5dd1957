import { expect, test } from 'vitest'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'

const keys = ['id', 'metadata', 'text', 'title', 'url']

async function aReaderOfTwoConnections() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3), 'Work mail')
  store.put(messages(), 'home', someMessages(3))
  return aReader(store, store.grant({ stream: 'messages' }).token)
}

test('fetch with the id of a search hit returns one document, mirrored exactly in the text [R65, R68, R69, R71, R72]', async () => {
  const reader = await aReaderOfTwoConnections()
  const { text } = await reader.call('search', { q: 'invoice 2' })
  const [, id = ''] = /id "([^"]+)"/.exec(text) ?? []

  const document = await reader.call('fetch', { id })

  expect(Object.keys(document.data).sort()).toEqual(keys)
  expect(document.text).toBe(JSON.stringify(document.data))
  expect(document.data).toMatchObject({ id, text: 'Message 2 about the invoice' })
})

test('a fetched document has no raw record, envelope or request id, but names its source [R70, R73, R74]', async () => {
  const reader = await aReaderOfTwoConnections()

  const { data } = await reader.call('fetch', { id: 'work/messages:m1' })

  expect(data).not.toHaveProperty('data')
  expect(JSON.stringify(data)).not.toMatch(/provider_url|request_id|"object"/)
  expect(data.metadata).toEqual({
    connection_id: 'work',
    connector_key: 'mail',
    stream: 'messages',
    record_id: 'm1',
    display_name: 'Work mail',
    emitted_at: '2026-06-01T00:00:00.000Z',
    authored_at: '2026-01-01T01:00:00.000Z',
  })
})

test('fetch applies the field projection before it renders the text [R75, R76, R77]', async () => {
  const reader = await aReaderOfTwoConnections()

  const { data, text, rawResult } = await reader.call('fetch', {
    id: 'work/messages:m1',
    fields: ['size'],
  })

  expect(JSON.parse(String(data.text))).toEqual({ size: 1 })
  expect(JSON.stringify(rawResult)).not.toMatch(/invoice|bob|2026-01-01|unread/)
  expect(text).toBe(JSON.stringify(data))
  expect(data.metadata).toMatchObject({
    connection_id: 'work',
    stream: 'messages',
    record_id: 'm1',
  })
})

test('record and connection ids with special characters can be fetched', async () => {
  const store = await aRecordStore()
  const specialIds = ['a/b', 'a:b', '../..', '%2f', 'ü "x"', '["a","b"]', 'a\nb', '://', ' ']
  store.put(
    messages(),
    'od/d:%',
    specialIds.map((id, n) => ({ ...someMessages(n + 1)[n], id })),
  )
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  const { data } = await reader.call('search', { q: 'invoice', limit: 20 })

  for (const { id, record_id } of data.results as Record<string, string>[]) {
    const document = await reader.call('fetch', { id })
    expect(document.data.metadata, id).toMatchObject({ record_id, connection_id: 'od/d:%' })
  }
  expect(data.results).toHaveLength(specialIds.length)
})

test('a text of 50,000 characters is returned whole, a longer one in parts by offset', async () => {
  const store = await aRecordStore()
  const long =
    Array.from({ length: 120_000 }, (_, n) => String.fromCodePoint(97 + (n % 26))).join('') +
    '🙂'.repeat(3)
  store.put(messages(), 'work', [
    { ...someMessages(1)[0], body: long },
    { ...someMessages(2)[1], body: long.slice(0, 50_000) },
  ])
  const reader = await aReader(store, store.grant({ stream: 'messages' }).token)
  let [text, offset]: [string, number | undefined] = ['', 0]
  while (offset !== undefined) {
    const { data } = await reader.call('fetch', { id: 'work/messages:m0', offset })
    text += data.text
    offset = (data.metadata as { next_offset?: number }).next_offset
  }

  expect(text).toBe(long)
  expect((await reader.call('fetch', { id: 'work/messages:m1' })).data.text).toBe(
    long.slice(0, 50_000),
  )
})

test('records outside the grant are reported like missing ones, and two different connections in one call conflict', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(10))
  store.put(messages(), 'home', someMessages(10))
  const since = '2026-01-01T05:00:00Z'
  const reader = await aReader(
    store,
    store.grant({ stream: 'messages', connection: 'work', since }).token,
  )

  const beforeGrantedTime = await reader.call('fetch', { id: 'work/messages:m4' })
  const absent = await reader.call('fetch', { id: 'work/messages:nope' })
  const otherConnection = await reader.call('fetch', { id: 'home/messages:m7' })
  const unknownConnection = await reader.call('fetch', { id: 'none/messages:m7' })

  expect(beforeGrantedTime.text).toBe(absent.text)
  expect(otherConnection.text).toBe(unknownConnection.text)
  expect((await reader.call('fetch', { id: 'work/messages:m5' })).isError).toBe(false)
  const conflict = await reader.call('fetch', { id: 'work/messages:m5', connection_id: 'home' })
  expect(conflict.failure?.code).toBe('conflicting_connection_id')
})
