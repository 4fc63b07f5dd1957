import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import {
  aMessage,
  aRecordStore,
  aStream,
  messages,
  someMessages,
  type TestStore,
} from '../support/a-record-store.ts'
import { eventually } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses of any shape, read without a type
type Body = Record<string, any>

async function aServer(store: TestStore, token: string) {
  const { port } = await serveHere({
    sources: [recordSource(store.file, { mount: '/mcp/records' })],
  })
  const origin = `http://127.0.0.1:${port}`
  const ask = async (path: string, init: RequestInit & { bearer?: string } = {}) => {
    const { bearer = token, ...rest } = init
    const response = await fetch(`${origin}${path}`, {
      ...rest,
      headers: { authorization: `Bearer ${bearer}`, ...rest.headers },
    })
    const bytes = Buffer.from(await response.arrayBuffer())
    const isJson = response.headers.get('content-type') === 'application/json'
    const body: Body = isJson ? JSON.parse(bytes.toString()) : {}
    return { status: response.status, headers: response.headers, bytes, body }
  }
  return { ask, origin }
}

async function aStoreWithTwoConnections() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(30), 'Work mail')
  store.put(messages(), 'home', someMessages(6))
  const { token } = store.grant({
    stream: 'messages',
    fields: ['id', 'sent_at', 'author', 'size', 'labels'],
  })
  return { store, token }
}

const attachments = () =>
  aStream('attachments', {
    primary_key: 'id',
    schema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        filename: { type: 'string' },
        blob_ref: { type: 'object' },
      },
    },
  })

test('the schema is served whole, scoped and compact, with granted fields only', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { ask } = await aServer(store, token)

  const fullSchema = (await ask('/v1/schema')).body
  const compact = (await ask('/v1/schema?view=compact')).body
  const full = (await ask('/v1/schema?stream=messages&detail=full&connection_id=work')).body
  const ambiguous = await ask('/v1/schema?stream=messages&detail=full')

  expect(fullSchema).toMatchObject({
    object: 'schema',
    bearer: { token_kind: 'mcp_package', client_id: 'test', grant_id: expect.any(String) },
    connector_count: 1,
    stream_count: 1,
    links: { self: '/v1/schema' },
    connectors: [
      {
        object: 'connector',
        source: { kind: 'connector', id: 'mail' },
        connector_key: 'mail',
        connector_id: 'mail',
        granted_connections: [
          { connection_id: 'home' },
          { connection_id: 'work', display_name: 'Work mail' },
        ],
        streams: [{ name: 'messages', primary_key: ['id'], cursor_field: 'sent_at' }],
      },
    ],
  })
  const [row] = fullSchema.connectors[0].streams
  expect(row.field_capabilities.size).toEqual({
    schema: { type: 'integer' },
    type: 'integer',
    granted: true,
    exact_filter: { declared: true, usable: true },
    range_filter: { declared: true, usable: true, operators: ['gte', 'gt', 'lte', 'lt'] },
    lexical_search: { declared: false, usable: false },
    semantic_search: { declared: false, usable: false },
    aggregation: expect.objectContaining({ sum: { declared: true, usable: true } }),
  })
  expect(JSON.stringify(fullSchema)).not.toMatch(/body|unread|thread/)
  expect(compact).toMatchObject({ detail: 'compact', field_capability_legend: expect.any(String) })
  expect(compact.connectors[0].streams[0].field_capabilities).toMatchObject({
    size: 't=integer,eq,r=gte|gt|lte|lt,a=sum|avg|min|max',
    author: 't=string,eq,lex,a=count_distinct|group_by',
    labels: 't=array',
  })
  expect(full).toMatchObject({ detail: 'full', stream_count: 1 })
  expect(full.connectors[0].granted_connections).toEqual([
    { connection_id: 'work', display_name: 'Work mail', grant_id: expect.stringMatching(/^grt_/) },
  ])
  expect(ambiguous.status).toBe(409)
  expect(ambiguous.body.error).toMatchObject({
    code: 'ambiguous_schema_detail',
    retry_with: 'connection_id',
  })
})

test('streams are listed per connection with record counts and freshness', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { ask } = await aServer(store, token)

  const { data } = (await ask('/v1/streams')).body
  const one = (await ask('/v1/streams/messages?connection_id=work')).body

  expect(data).toMatchObject([
    { name: 'messages', connection_id: 'home', record_count: 6 },
    {
      name: 'messages',
      connection_id: 'work',
      display_name: 'Work mail',
      record_count: 30,
      freshness: { status: 'current', captured_at: expect.any(String) },
    },
  ])
  expect(one).toMatchObject({
    object: 'stream_metadata',
    name: 'messages',
    connection_id: 'work',
    expand_capabilities: [],
    query: { range_filters: { size: ['gte', 'gt', 'lte', 'lt'] } },
  })
})

test('the deprecated connection alias is accepted with a warning and must agree with connection_id', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { ask } = await aServer(store, token)

  for (const path of ['/v1/streams/messages/records', '/v1/schema', '/v1/streams', '/v1/search']) {
    const { status, body } = await ask(
      `${path}?connector_instance_id=work&${path.endsWith('search') ? 'q=ann' : ''}`.replace(
        /&$/,
        '',
      ),
    )
    expect({ path, status }).toEqual({ path, status: 200 })
    expect(body.meta.warnings, path).toMatchObject([
      { code: 'deprecated_alias_used', param: 'connector_instance_id' },
    ])
  }
  const both = '/v1/streams/messages/records?connection_id=work&connector_instance_id'
  expect((await ask(`${both}=work`)).status).toBe(200)
  expect((await ask(`${both}=home`)).body.error.code).toBe('invalid_argument')
  expect((await ask('/v1/streams?connection_id=nope')).body.error.code).toBe('connection_not_found')
})

test('without connection_id all connections are read in turn, and partial results are reported', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { ask } = await aServer(store, token)

  const page = (await ask('/v1/streams/messages/records?limit=2&filter[size][gte]=3&count=exact'))
    .body
  const sum = (await ask('/v1/streams/messages/aggregate?metric=sum&field=size')).body
  const groups = (await ask('/v1/streams/messages/aggregate?metric=count&group_by=author&limit=2'))
    .body
  const distinct = await ask('/v1/streams/messages/aggregate?metric=count_distinct&field=author')
  const changes = await ask('/v1/streams/messages/records?changes_since=beginning')
  const one = await ask('/v1/streams/messages/records/m3')
  const unique = await ask('/v1/streams/messages/records/m20')

  expect(groups.limit).toBe(2)
  await eventually(() => {
    const disclosures = store.writer.packages.flatMap(
      ({ id }) => store.writer.listDisclosures(id).records,
    )
    const aggregates = disclosures.filter(({ entry }) => entry.tool === 'v1/aggregate')
    expect(aggregates.map(({ entry }) => entry.fields)).toContainEqual(['author'])
  })
  expect(page.data.map((row: Body) => `${row.connection_id} ${row.id}`)).toEqual([
    'home m5',
    'home m4',
    'work m29',
    'work m28',
  ])
  expect(page).toMatchObject({ has_more: true, meta: { count: { kind: 'exact', value: 30 } } })
  expect(page.next_cursor).toBeUndefined()
  expect(page.meta.warnings).toMatchObject([{ code: 'partial_results' }])
  expect(sum.value).toBe(435 + 15)
  expect(groups).toMatchObject({
    groups: [{ key: 'ann', count: 12 }, { count: 12 }],
    other_count: 12,
    filtered_record_count: 36,
    approximate: false,
  })
  expect([distinct.status, changes.status, one.status, unique.status]).toEqual([400, 400, 409, 200])
  for (const { error } of [distinct.body, changes.body, one.body])
    expect(error).toMatchObject({
      retry_with: 'connection_id',
      available_connections: [{ connection_id: 'home' }, { connection_id: 'work' }],
    })
})

test('pages are linked, an excessive limit is clamped with a warning, and other versions are refused', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { ask } = await aServer(store, token)
  const path = '/v1/streams/messages/records?connection_id=work&limit=20'

  const first = (await ask(path)).body
  const second = (await ask(first.links.next)).body
  const clamped = (await ask('/v1/search?q=ann&limit=500')).body
  const version = await ask('/v1/schema', { headers: { 'pdpp-version': '2020-01-01' } })

  expect(first.links.self).toBe(path)
  expect(second.data).toHaveLength(10)
  expect(second.links.next).toBeNull()
  expect(clamped.meta.warnings).toMatchObject([
    { code: 'limit_clamped', detail: { requested_limit: 500, max_limit: 100 } },
  ])
  expect(version.body.error.code).toBe('unsupported_version')
})

test('the owner ingests records by HTTP, a reader reads them, and other tokens cannot ingest', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', [])
  const owner = store.owner()
  const { token } = store.grant({ stream: 'messages' })
  const { ask } = await aServer(store, token)
  const lines = [
    { key: 'm1', data: aMessage(1), emitted_at: '2026-03-01T00:00:00Z' },
    { key: 'm2', data: aMessage(2), emitted_at: '2026-03-01T00:00:01Z' },
    { key: 'other', data: aMessage(3) },
    { key: 'm9', data: 'nothing' },
  ]
  const send = (bearer: string, path = '/v1/ingest/messages', body = lines as object[]) =>
    ask(path, {
      method: 'POST',
      bearer,
      headers: { 'content-type': 'application/x-ndjson' },
      body: body.map((line) => JSON.stringify(line)).join('\n'),
    })

  const ingested = await send(owner)
  const repeated = await send(owner)
  const removed = await send(owner, '/v1/ingest/messages?connection_id=work', [
    { key: 'm2', op: 'delete' },
  ])
  const records = (await ask('/v1/streams/messages/records')).body.data
  const withReaderToken = await send(token)
  const withUnknownToken = await send('drb_nobody')
  const unknown = await send(owner, '/v1/ingest/letters')
  const invalidUtf8 = await ask('/v1/ingest/messages', {
    method: 'POST',
    bearer: owner,
    body: Buffer.from([0x7b, 0xff]),
  })
  const malformed = await send(owner, '/v1/ingest/%E0%A4%A')
  const second = await send(owner, '/v1/ingest/messages?connector_id=mail&connection_id=new')

  expect(ingested).toMatchObject({
    status: 200,
    body: { stream: 'messages', connection_id: 'work', records_accepted: 2, records_rejected: 2 },
  })
  expect(ingested.body.rejections).toMatchObject([{ line: 3 }, { line: 4 }])
  expect(repeated.body.records_accepted).toBe(2)
  expect(removed.body.records_accepted).toBe(1)
  expect(records).toMatchObject([{ id: 'm1', emitted_at: '2026-03-01T00:00:00Z' }])
  expect([withReaderToken.status, withUnknownToken.status, unknown.status]).toEqual([403, 401, 403])
  expect([invalidUtf8.status, malformed.status]).toEqual([400, 403])
  expect(second.body).toMatchObject({ connection_id: 'new', records_accepted: 2 })
  // A grant lists its connections, so a later connection is not included.
  expect((await ask('/v1/streams')).body.data).toHaveLength(1)
  const ambiguous = await send(owner)
  expect(ambiguous.body.error).toMatchObject({
    code: 'ambiguous_connection',
    retry_with: 'connection_id',
  })
})

test('an owner token authorizes ingestion only as the bearer token', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', [])
  const owner = store.owner()
  const { token } = store.grant({ stream: 'messages' })
  const { ask } = await aServer(store, token)
  const body = JSON.stringify({ key: 'm1', data: aMessage(1) })
  const carriers: readonly [string, Record<string, string>][] = [
    [`/v1/ingest/messages?connection_id=${owner}`, {}],
    ['/v1/ingest/messages', { cookie: `session=${owner}` }],
    ['/v1/ingest/messages', { 'x-api-key': owner }],
  ]

  for (const [path, headers] of carriers)
    for (const bearer of [owner, token]) {
      const answer = await ask(path, { method: 'POST', body, bearer, headers })
      expect(answer.status).toBe(403)
      expect(answer.bytes.toString()).not.toContain(owner)
    }
  expect((await ask('/v1/schema', { bearer: owner })).status).toBe(403)
  expect(store.writer.count(store.writer.sources[0] as never)).toBe(0)
})

test('a blob is readable only through a granted record that references it', async () => {
  const store = await aRecordStore()
  store.put(attachments(), 'work', [])
  store.put(attachments(), 'home', [])
  const owner = store.owner()
  const bytes = Buffer.from([0, 255, 1, 254, 13, 10, 0])
  const { ask } = await aServer(store, owner)
  const upload = (connection: string, key: string) =>
    ask(`/v1/blobs?connection_id=${connection}&stream=attachments&record_key=${key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/pdf' },
      body: bytes,
    })
  const uploaded = await upload('work', 'a1')
  await upload('home', 'a1')
  expect((await upload('home', '')).status).toBe(400)
  const { blob_id } = uploaded.body
  for (const connection of ['work', 'home'])
    store.put(attachments(), connection, [
      { id: 'a1', filename: 'invoice.pdf', blob_ref: { blob_id } },
      { id: 'a2', filename: 'other.pdf' },
    ])
  const readers = {
    both: store.grant({ stream: 'attachments' }),
    work: store.grant({ stream: 'attachments', connection: 'work' }),
    blind: store.grant({ stream: 'attachments', fields: ['id', 'filename'] }),
    elsewhere: store.grant({ stream: 'attachments', resources: ['a2'] }),
  }

  const sha256 = createHash('sha256').update(bytes).digest('hex')
  expect(uploaded.body).toEqual({
    blob_id: `blob_sha256_${sha256}`,
    mime_type: 'application/pdf',
    size_bytes: 7,
    sha256,
  })
  const bearer = readers.work.token
  const record = (await ask('/v1/streams/attachments/records/a1', { bearer })).body
  const blob = await ask(record.data.blob_ref.fetch_url, { bearer })
  expect(blob.bytes).toEqual(bytes)
  expect(Object.fromEntries(blob.headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': '7',
    'cache-control': 'private, no-store',
  })
  const { data } = (
    await ask('/v1/streams/attachments/records?filter[id]=a1', { bearer: readers.both.token })
  ).body
  expect(data).toHaveLength(2)
  for (const { data: named } of data)
    expect((await ask(named.blob_ref.fetch_url, { bearer: readers.both.token })).bytes).toEqual(
      bytes,
    )
  const ambiguous = await ask(`/v1/blobs/${blob_id}`, { bearer: readers.both.token })
  expect(ambiguous.body.error).toMatchObject({ code: 'ambiguous_connection' })
  const blobOfHome = `/v1/blobs/${blob_id}?connection_id=home`
  expect((await ask(blobOfHome, { bearer: readers.both.token })).bytes).toEqual(bytes)
  for (const { token } of [readers.blind, readers.elsewhere]) {
    const { status, body } = await ask(`/v1/blobs/${blob_id}`, { bearer: token })
    expect({ status, code: body.error.code }).toEqual({ status: 404, code: 'blob_not_found' })
  }
  expect((await ask('/v1/blobs/nope', { bearer })).body.error.code).toBe('blob_not_found')
  expect((await ask(`/v1/blobs/${blob_id}`)).status).toBe(403)
})

test('discovery is served in three metadata documents, and token kinds by introspection', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const owner = store.owner()
  const single = store.grant({ stream: 'messages', connection: 'work', since: '2026-01-01' })
  const { ask, origin } = await aServer(store, token)
  const introspect = async (inspectedToken: string) =>
    (
      await ask('/introspect', {
        method: 'POST',
        body: new URLSearchParams({ token: inspectedToken }),
      })
    ).body

  const resource = (await ask('/.well-known/oauth-protected-resource')).body
  const mount = (await ask('/.well-known/oauth-protected-resource/mcp/records')).body
  const server = (await ask('/.well-known/oauth-authorization-server')).body
  const mountServer = await ask('/.well-known/oauth-authorization-server/mcp/records')
  const unknownMount = await ask('/.well-known/oauth-protected-resource/nope')
  const unauthenticated = await ask('/v1/schema', { bearer: 'nobody' })

  expect(resource).toMatchObject({
    resource: origin,
    pdpp_core_query_base: `${origin}/v1`,
    pdpp_token_kinds_supported: ['client', 'mcp_package'],
    capabilities: { lexical_retrieval: { supported: true, max_limit: 100 } },
  })
  expect(mount).toMatchObject({
    resource: `${origin}/mcp/records`,
    pdpp_agent_discovery: { mcp: { endpoint: `${origin}/mcp/records`, no_owner_token: true } },
  })
  expect(server).toMatchObject({ issuer: origin, introspection_endpoint: `${origin}/introspect` })
  expect(mountServer.body).toEqual(server)
  expect(unknownMount.status).toBe(404)
  expect(unauthenticated.body.error).toMatchObject({
    resource_metadata: `${origin}/.well-known/oauth-protected-resource`,
    next_step: expect.any(String),
  })
  expect(await introspect(token)).toMatchObject({ active: true, pdpp_token_kind: 'mcp_package' })
  expect(await introspect(single.token)).toMatchObject({
    active: true,
    pdpp_token_kind: 'client',
    grant_id: single.grants[0],
    grant: {
      access_mode: 'continuous',
      streams: [{ name: 'messages', connection_id: 'work', time_range: { since: '2026-01-01' } }],
    },
  })
  expect(await introspect(owner)).toEqual({ active: true, pdpp_token_kind: 'owner' })
  expect(await introspect('drb_nobody')).toEqual({ active: false })
  store.writer.revoke(single.id, Date.now())
  expect(await introspect(single.token)).toEqual({ active: false })
})

test('a REST read is subject to the policy of its tool and is audited', async () => {
  const { store, token } = await aStoreWithTwoConnections()
  const { bridge, port } = await serveHere({
    sources: [recordSource(store.file, { mount: '/mcp/records' })],
    policy: { rules: [{ match: 'search', rates: [{ calls: 2, seconds: 60 }] }] },
  })
  const search = () =>
    fetch(`http://127.0.0.1:${port}/v1/search?q=ann`, {
      headers: { authorization: `Bearer ${token}` },
    })

  const answers = [await search(), await search(), await search()]

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
  expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(bridge.audit).toMatchObject([
    { capability: 'search', outcome: 'done' },
    { capability: 'search', outcome: 'done' },
    { capability: 'search', outcome: 'failed', code: 'rate_limited' },
  ])
})

test('HTTP ingestion rejects an integer beyond the safe range', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(1))
  const { ask } = await aServer(store, store.owner())

  const { body } = await ask('/v1/ingest/messages?connection_id=work', {
    method: 'POST',
    body: JSON.stringify(aMessage(1)).replace('"size":1', '"size":1234567890123456781'),
  })

  expect(body).toMatchObject({
    records_accepted: 0,
    rejections: [{ line: 1, message: expect.stringContaining('size has an integer') }],
  })
})
