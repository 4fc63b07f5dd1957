import { expect, test } from 'vitest'
import { aReader, aRecordStore, aStream } from '../support/a-record-store.ts'

const people = aStream('people', {
  primary_key: ['email', 'phone'],
  cursor_field: 'at',
  schema: {
    type: 'object',
    properties: {
      email: { type: 'string' },
      phone: { type: 'string' },
      note: { type: 'string' },
      at: { type: 'string', format: 'date-time' },
    },
  },
  query: { search: { lexical_fields: ['note'] }, aggregations: { group_by: ['note'] } },
})

const records = [1, 2, 3].map((number) => ({
  email: `hidden${number}@example.org`,
  phone: `555000${number}`,
  note: `walnut cake ${number}`,
  at: `2026-01-0${number}T00:00:00Z`,
}))
/** The records of a page that `query_records` returned. */
const listOf = (data: unknown) => (data as { data: { data: { id: string }[] } }).data.data

const isLeaked = (answer: unknown): boolean =>
  /hidden|555000|aGlkZGVu|email|phone/.test(JSON.stringify(answer))

test('no value of a key field outside the grant is in any answer, and ids can be fetched', async () => {
  const store = await aRecordStore()
  const source = store.put(people, 'work', records)
  const key = JSON.stringify([records[2]?.email, records[2]?.phone])
  const { token } = store.grant({ stream: 'people', fields: ['note', 'at'] })
  const { call, origin } = await aReader(store, token)
  const get = async (path: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${origin}/v1/${path}`, { headers })).json()
  }

  const page = await call('query_records', { stream: 'people', limit: 1 })
  const [first] = listOf(page.data)
  const nextCursor = (page.data.data as { next_cursor: string }).next_cursor
  const search = await call('search', { q: 'walnut' })
  const [hit] = search.data.results as { id: string }[]
  const document = await call('fetch', { id: String(hit?.id) })
  const record = (await get(`streams/people/records/${first?.id}`)) as { id: string }
  store.remove(source, key)
  const answers = [
    page,
    search,
    document,
    record,
    await call('query_records', { stream: 'people', limit: 1, cursor: nextCursor }),
    await call('query_records', { stream: 'people', changes_since: 'beginning' }),
    await call('schema', {}),
    await call('schema', { stream: 'people', detail: 'full' }),
    await get('schema'),
    await get('streams/people'),
    await get('streams/people/records'),
    await get('streams/people/records?changes_since=beginning'),
    await get('search?q=walnut'),
  ]

  expect(document.isError).toBe(false)
  expect(record.id).toBe(first?.id)
  expect(answers.filter(isLeaked)).toEqual([])
  expect(JSON.stringify(answers)).toContain('"record_ids":"opaque"')
})

test('ids differ between grants, and a guessed key is not found', async () => {
  const store = await aRecordStore()
  store.put(people, 'work', records)
  const terms = { stream: 'people', fields: ['note', 'at'] }
  const readers = [
    await aReader(store, store.grant(terms).token),
    await aReader(store, store.grant(terms).token),
  ]
  const idsOf = async (at: number): Promise<string[]> => {
    const { data } = (await readers[at]?.call('query_records', { stream: 'people' })) ?? {}
    return listOf(data).map(({ id }) => id)
  }

  const [ids, otherIds] = [await idsOf(0), await idsOf(1)]
  const guess = JSON.stringify([records[0]?.email, records[0]?.phone])
  const fetched = async (id: string) =>
    (await readers[0]?.call('fetch', { id: `work/people:${id}` }))?.failure?.code

  expect(await idsOf(0)).toEqual(ids)
  expect(ids.filter((id) => otherIds.includes(id))).toEqual([])
  expect(await fetched(String(ids[0]))).toBeUndefined()
  expect(await fetched(String(otherIds[0]))).toBe('not_found')
  expect(await fetched(guess)).toBe('not_found')
})

test('a grant of the whole key keeps the ids of the owner', async () => {
  const store = await aRecordStore()
  store.put(people, 'work', records)
  const { call } = await aReader(store, store.grant({ stream: 'people' }).token)

  const { data } = await call('query_records', { stream: 'people' })

  expect(listOf(data).map(({ id }) => JSON.parse(id)[0])).toEqual(
    records.map(({ email }) => email).reverse(),
  )
})

/** Letters that people write and receive, by the hidden key of a person; each has an attachment. */
const letters = aStream('letters', {
  primary_key: 'secret',
  cursor_field: 'at',
  schema: {
    type: 'object',
    properties: {
      secret: { type: 'string' },
      sender: { type: 'string' },
      reply_to: { type: 'string' },
      subject: { type: 'string' },
      blob_ref: { type: 'object' },
      at: { type: 'string', format: 'date-time' },
    },
  },
  relationships: [
    { name: 'replies', stream: 'letters', foreign_key: 'reply_to', cardinality: 'has_many' },
    { name: 'origin', stream: 'letters', foreign_key: 'reply_to', cardinality: 'belongs_to' },
  ],
  query: {
    expand: ['replies', 'origin'],
    aggregations: { group_by: ['secret', 'subject'], count_distinct: ['secret'] },
  },
})

const bytes = Buffer.from('an attachment')
const blobId = `blob_${'a'.repeat(64)}`
const allLetters = [1, 2].map((number) => ({
  secret: `hidden${number}`,
  ...(number === 2 && { reply_to: 'hidden1' }),
  subject: `walnut ${number}`,
  blob_ref: { blob_id: blobId, mime_type: 'text/plain', size_bytes: bytes.length },
  at: `2026-01-0${number}T00:00:00Z`,
}))

async function aLetterReader(fields: readonly string[]) {
  const store = await aRecordStore()
  const source = store.put(letters, 'work', allLetters)
  store.writer.storeBlob(
    { id: blobId, mimeType: 'text/plain', bytes },
    { source: source.n, key: 'hidden1' },
  )
  const { token } = store.grant({ stream: 'letters', fields })
  return { ...(await aReader(store, token)), token }
}

test('aggregates and blobs contain no value of a key field outside the grant', async () => {
  const { call, origin, token } = await aLetterReader(['subject', 'at', 'blob_ref'])
  const headers = { authorization: `Bearer ${token}` }
  const blob = await fetch(`${origin}/v1/blobs/${blobId}`, { headers })
  const query = { stream: 'letters', metric: 'count' }
  const answers = [
    await call('query_records', { stream: 'letters' }),
    await call('aggregate', query),
    await call('aggregate', { ...query, group_by: 'subject' }),
    await call('aggregate', { ...query, group_by: 'secret' }),
    await call('aggregate', { ...query, metric: 'count_distinct', field: 'secret' }),
    await call('aggregate', { ...query, filter: { secret: 'hidden1' } }),
    Object.fromEntries(blob.headers),
    await blob.text(),
  ]
  const codes = answers
    .slice(3, 6)
    .map((answer) => (answer as { failure?: { code: string } }).failure)

  expect(blob.status).toBe(200)
  expect(answers.filter((answer) => JSON.stringify(answer).includes('hidden'))).toEqual([])
  expect(codes.every((failure) => failure !== undefined)).toBe(true)
})

test('a relation cannot be expanded where it would reveal a key outside the grant', async () => {
  const { call } = await aLetterReader(['subject', 'at', 'reply_to'])
  const expand = async (name: string) =>
    (await call('query_records', { stream: 'letters', expand: [name] })).failure?.code
  const schema = await call('schema', { stream: 'letters' })

  expect(await expand('replies')).toBe('invalid_expand')
  expect(await expand('origin')).toBe('invalid_expand')
  expect(JSON.stringify(schema)).not.toMatch(/replies|origin/)
})

test('expanded records under a grant of the key have the ids of the owner', async () => {
  const { call } = await aLetterReader(['secret', 'subject', 'at', 'reply_to'])

  const { data } = await call('query_records', { stream: 'letters', expand: ['replies', 'origin'] })

  expect(
    JSON.stringify(listOf(data).map((record) => (record as { expanded?: unknown }).expanded)),
  ).toContain('"id":"hidden2"')
})
