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
