import { expect, test } from 'vitest'
import {
  aReader,
  aRecordStore,
  aStream,
  messages,
  someMessages,
} from '../support/a-record-store.ts'

// biome-ignore lint/suspicious/noExplicitAny: an answer of any shape, looked at as it comes
type Body = Record<string, any>

async function aServer() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(30), 'Work mail')
  const { token } = store.grant({ stream: 'messages' })
  const { origin } = await aReader(store, token)
  const get = async (path: string, bearer: string | undefined = token) => {
    const response = await fetch(`${origin}${path}`, {
      headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
    })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Body,
    }
  }
  return { store, token, origin, get }
}

test('every answer has an id of its own and the version of the contract', async () => {
  const { get } = await aServer()

  for (const path of ['/v1/schema', '/v1/streams', '/v1/nope']) {
    const { headers } = await get(path)
    expect(headers.get('request-id')).toMatch(/^[\da-f-]{36}$/)
    expect(headers.get('pdpp-version')).toBe('2026-04-06')
  }
})

test('the read contract answers on its paths', async () => {
  const { get } = await aServer()

  expect((await get('/v1/schema')).body).toMatchObject({
    object: 'schema',
    bearer: { token_kind: 'client' },
  })
  expect((await get('/v1/schema?stream=messages&detail=full')).body).toMatchObject({
    detail: 'full',
  })
  expect((await get('/v1/streams')).body).toMatchObject({
    data: [{ name: 'messages', connection_id: 'work' }],
  })
  expect((await get('/v1/streams/messages')).body).toMatchObject({ object: 'stream_metadata' })
  const { body } = await get(
    '/v1/streams/messages/records?limit=2&sort=sent_at&filter[size][gte]=5&fields=size,id&count=exact',
  )
  expect(body).toMatchObject({
    object: 'list',
    data: [{ id: 'm5', data: { id: 'm5', size: 5 } }, { id: 'm6' }],
    has_more: true,
    meta: { count: { kind: 'exact', value: 25 } },
  })
  const next = await get(
    `/v1/streams/messages/records?limit=2&sort=sent_at&filter[size][gte]=5&cursor=${body.next_cursor}`,
  )
  expect(next.body.data).toMatchObject([{ id: 'm7' }, { id: 'm8' }])
  expect((await get('/v1/streams/messages/records/m3?fields=size')).body).toMatchObject({
    id: 'm3',
    connector_key: 'mail',
    data: { size: 3 },
  })
  expect(
    (await get('/v1/streams/messages/aggregate?metric=count&group_by=author')).body,
  ).toMatchObject({ groups: [{ key: 'ann', count: 10 }, {}, {}] })
  expect((await get('/v1/search?q=invoice&limit=3')).body).toMatchObject({
    data: [
      { object: 'search_result', record_key: expect.any(String), connector_id: 'mail' },
      {},
      {},
    ],
    has_more: true,
  })
  expect(
    (await get('/v1/streams/messages/records?changes_since=beginning')).body.next_cursor,
  ).toBeDefined()
})

test.each([
  ['/v1/streams/messages/records?nope=1', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter=x', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter[nope]=x', 400, 'unknown_field'],
  ['/v1/streams/messages/records?sort=size', 400, 'invalid_sort'],
  ['/v1/streams/messages/records?expand=nope', 400, 'invalid_expand'],
  ['/v1/streams/messages/records?cursor=nope', 400, 'invalid_cursor'],
  ['/v1/streams/nope/records', 403, 'grant_stream_not_allowed'],
  ['/v1/streams/messages/records?connection_id=nope', 404, 'connection_not_found'],
  ['/v1/streams/messages/records/nope', 404, 'not_found'],
  ['/v1/schema?detail=full', 400, 'invalid_request'],
  ['/v1/streams/messages/aggregate?metric=nope', 400, 'invalid_request'],
  ['/v1/streams/messages/aggregate?metric=count&granularity=nope', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter[size]=5&filter[size][gte]=1', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter[size][gte]=1&filter[size]=5', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter[size][gte]=9&filter[size][gte]=1', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter[size]=5&filter%5Bsize%5D=6', 400, 'invalid_request'],
  ['/v1/streams/messages/records?filter=x&filter[size]=5', 400, 'invalid_request'],
  ['/v1/streams/messages/records?connection_id[x]=nope', 400, 'invalid_request'],
  ['/v1/streams/messages/records?connection_id=work&connection_id=home', 400, 'invalid_request'],
  ['/v1/streams/messages/records?order=down', 400, 'invalid_request'],
  ['/v1/streams/messages/records?count=all', 400, 'invalid_request'],
  ['/v1/streams/messages/records?expand=replies&expand_limit[replies]=abc', 400, 'invalid_request'],
  ['/v1/streams/messages/records?expand=replies&expand_limit[replies]=0', 400, 'invalid_request'],
  ['/v1/streams/messages/records?expand=replies&expand_limit=5', 400, 'invalid_request'],
  ['/v1/schema?stream=messages&detail=all', 400, 'invalid_request'],
  ['/v1/schema?view=all', 400, 'invalid_request'],
])('%s is %d %s', async (path, status, code) => {
  const { get } = await aServer()

  const answer = await get(path)

  expect(answer.status).toBe(status)
  expect(answer.body.error).toMatchObject({
    code,
    type: expect.any(String),
    request_id: expect.any(String),
  })
})

test('nobody reads without a grant, and is told where to begin', async () => {
  const { get, origin } = await aServer()

  const { status, headers, body } = await get('/v1/schema', '')

  expect(status).toBe(401)
  expect(body.error.code).toBe('authentication_error')
  const [, address = ''] =
    /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? []
  expect(await (await fetch(address)).json()).toMatchObject({
    pdpp_core_query_base: `${origin}/v1`,
  })
})

test('a limit that is too large is set, and said', async () => {
  const { get } = await aServer()

  const { body } = await get('/v1/streams/messages/records?limit=500')

  expect(body.meta.warnings).toMatchObject([{ code: 'limit_clamped' }])
})

const elsewhere: readonly [string, string, string][] = [
  ['PUT', '/v1/schema', 'GET'],
  ['DELETE', '/v1/streams/messages/records/m1', 'GET'],
  ['POST', '/v1/search', 'GET'],
  ['PATCH', '/v1/blobs', 'POST'],
  ['GET', '/v1/ingest/messages', 'POST'],
  ['GET', '/introspect', 'POST'],
  ['PUT', '/.well-known/oauth-protected-resource', 'GET'],
]

test('a method that means nothing is told which does', async () => {
  const { origin, token } = await aServer()

  for (const [method, path, allowed] of elsewhere) {
    const response = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    })
    expect([response.status, response.headers.get('allow')], path).toEqual([405, allowed])
    expect(await response.json()).toMatchObject({
      error: {
        type: 'invalid_request_error',
        code: 'invalid_request',
        request_id: expect.any(String),
      },
    })
  }
})

test('a filter means in each connection what its field is there', async () => {
  const { store, origin } = await aServer()
  const notes = (connector: string, type: string) =>
    aStream(
      'notes',
      {
        primary_key: 'id',
        schema: {
          properties: { id: { type: 'string' }, room: { type }, text: { type: 'string' } },
        },
        query: { search: { lexical_fields: ['text'] } },
      },
      connector,
    )
  store.put(notes('paper', 'string'), 'drawer', [{ id: 'p', room: '7', text: 'tea' }])
  store.put(notes('phone', 'integer'), 'pocket', [{ id: 'q', room: 7, text: 'tea' }])
  const { token } = store.grant({ stream: 'notes' })
  const get = async (query: string) => {
    const response = await fetch(`${origin}/v1/search?q=tea&streams=notes&${query}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return (await response.json()) as Body
  }

  const { data } = await get('filter[room]=7')
  const { error } = await get('filter[room]=seven')

  expect(data.map(({ record_key }: Body) => record_key).sort()).toEqual(['p', 'q'])
  expect(error).toMatchObject({ message: 'filter.room must be a number.' })
})
