import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import {
  aReader,
  aRecordStore,
  aStream,
  messages,
  someMessages,
} from '../support/a-record-store.ts'
import { atMost } from '../support/amount.ts'
import { aWhile } from '../support/eventually.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read without a type
type Body = Record<string, any>

async function anIngestServer() {
  const store = await aRecordStore()
  const stream = aStream('numbers', {
    primary_key: 'id',
    schema: {
      type: 'object',
      properties: { id: { type: 'integer' }, size: { type: 'number' }, name: { type: 'string' } },
    },
  })
  const source = store.put(stream, 'work', [])
  const owner = store.owner()
  const { token } = store.grant({ stream: 'numbers' })
  const { origin } = await aReader(store, token)
  const post = async (path: string, body: string): Promise<Body> => {
    const headers = { authorization: `Bearer ${owner}`, 'content-type': 'application/x-ndjson' }
    const response = await fetch(`${origin}/v1/${path}`, { method: 'POST', headers, body })
    return { status: response.status, ...((await response.json()) as Body) }
  }
  const read = () =>
    fetch(`${origin}/v1/streams/numbers/records`, { headers: { authorization: `Bearer ${token}` } })
  return { store, source, post, read }
}

test('ingested lines are stored exactly or rejected by line number', async () => {
  const { store, source, post } = await anIngestServer()
  store.put(source.stream, 'work', [{ id: 9007199254740991 }, { id: 1 }])
  const lines = [
    '{"key":9007199254740993,"op":"delete"}',
    '{"key":1e400,"op":"delete"}',
    '{"key":{"id":1},"op":"delete"}',
    '{"key":[9007199254740993],"op":"delete"}',
    '{"key":2,"data":{"id":2,"size":1e400}}',
    '{"key":3,"data":{"id":3,"name":"a\\u0000b"}}',
    '{"key":4,"data":{"id":4,"size":"large"}}',
    '{"key":1,"op":"delete"}',
  ]

  const answer = await post('ingest/numbers', lines.join('\n'))

  const inexact = 'key must be a string or an exact number: write it as a string'
  expect(answer).toMatchObject({
    records_accepted: 2,
    records_rejected: 6,
    rejections: [
      ...[1, 2, 3, 4].map((line) => ({ line, message: inexact })),
      { line: 5, message: 'size has a number too large to be stored: write it as a string' },
      { line: 6, message: expect.stringContaining('name contains a NUL character') },
    ],
    warnings: [{ code: 'type_mismatch', field: 'size', type: 'number', count: 1, line: 7 }],
  })
  const keys = [...store.writer.export(source)].map(({ key }) => key)
  expect(keys).toEqual(['9007199254740991', '4'])
})

test('reads continue while ingestion waits for the write lock of another process', async () => {
  const { store, source, post, read } = await anIngestServer()
  await post('ingest/numbers?connection_id=work', '{"key":1,"data":{"id":1}}')
  const otherWriter = openSqlite(store.file)
  onTestFinished(() => otherWriter.close())
  otherWriter.exec('begin immediate')

  const pendingWrites = [
    post('ingest/numbers?connection_id=new', '{"key":2,"data":{"id":2}}'),
    post('blobs?stream=numbers&connection_id=work&record_key=1', 'bytes'),
    post('ingest/numbers?connection_id=work', '{"key":3,"data":{"id":3}}'),
  ]
  const first = await Promise.race([...pendingWrites, aWhile(150).then(() => 'none')])
  const startMs = performance.now()
  const reads = [await read(), await read(), await read()]
  const elapsedMs = performance.now() - startMs
  otherWriter.exec('rollback')
  const answers = await Promise.all(pendingWrites)

  expect(first).toBe('none')
  expect(reads.map(({ status }) => status)).toEqual([200, 200, 200])
  // A read blocked on the lock would sleep for seconds.
  expect(elapsedMs).toBeLessThan(atMost(2000))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(store.writer.sources.map(({ connection }) => connection.id)).toEqual(['new', 'work'])
  expect(store.writer.count(source)).toBe(2)
})

test('an empty blob is stored with length 0', async () => {
  const { store, post } = await anIngestServer()

  const answer = await post('blobs?stream=numbers&record_key=1', '')

  expect(answer).toMatchObject({ status: 200, size_bytes: 0 })
  const database = openSqlite(store.file)
  onTestFinished(() => database.close())
  const blobs = database.prepare('select length(bytes) as length from blobs').all()
  expect(blobs).toMatchObject([{ length: 0 }])
})

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

test('every response has a request id and the contract version', async () => {
  const { get } = await aServer()

  for (const path of ['/v1/schema', '/v1/streams', '/v1/nope']) {
    const { headers } = await get(path)
    expect(headers.get('request-id')).toMatch(/^[\da-f-]{36}$/)
    expect(headers.get('pdpp-version')).toBe('2026-04-06')
  }
})

test('a time zone offset in a query string is parsed, even with an unescaped plus sign', async () => {
  const { get } = await aServer()
  const count = async (from: string) =>
    (await get(`/v1/streams/messages/records?count=exact&filter[sent_at][gte]=${from}`)).body.meta
      ?.count.value

  const [escaped, unescaped, utc] = await Promise.all([
    count('2026-01-01T10:00:00%2B09:00'),
    count('2026-01-01T19:00:00+09:00'),
    count('2026-01-01T10:00:00Z'),
  ])

  expect([escaped, unescaped, utc]).toEqual([29, 20, 20])
})

test('a search hit describes its score as the resource metadata does', async () => {
  const { get } = await aServer()

  const { body } = await get('/v1/search?q=invoice&limit=1')
  const metadata = await get('/.well-known/oauth-protected-resource')

  const scoreKind = { kind: 'lexical', order: 'higher_is_better' }
  expect(body.data[0].score).toEqual({ ...scoreKind, value: expect.any(Number) })
  expect(metadata.body.capabilities.lexical_retrieval.score).toEqual(scoreKind)
})

test('every read endpoint of the contract answers on its path', async () => {
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

test('a request without a grant gets 401 with the resource metadata address', async () => {
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

test('a limit above the maximum is clamped with a warning', async () => {
  const { get } = await aServer()

  const { body } = await get('/v1/streams/messages/records?limit=500')

  expect(body.meta.warnings).toMatchObject([{ code: 'limit_clamped' }])
})

const unsupportedMethods: readonly [string, string, string][] = [
  ['PUT', '/v1/schema', 'GET'],
  ['DELETE', '/v1/streams/messages/records/m1', 'GET'],
  ['POST', '/v1/search', 'GET'],
  ['PATCH', '/v1/blobs', 'POST'],
  ['GET', '/v1/ingest/messages', 'POST'],
  ['GET', '/introspect', 'POST'],
  ['PUT', '/.well-known/oauth-protected-resource', 'GET'],
]

test('an unsupported method gets 405 with an Allow header', async () => {
  const { origin, token } = await aServer()

  for (const [method, path, allowed] of unsupportedMethods) {
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

test('a search filter uses the field type of each connection', async () => {
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
