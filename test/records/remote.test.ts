import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import { aProject } from '../support/a-project.ts'
import {
  aMessage,
  aReader,
  aRecordStore,
  aStream,
  type Data,
  messages,
  someMessages,
  toResult,
} from '../support/a-record-store.ts'
import { aModernClient } from '../support/official-clients.ts'
import { drawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'

/** A client of a server that holds no records itself and reads them from a remote server. */
async function aRemoteReader(server: string, token: string) {
  const source = await recordSource({ server, token }, { mount: '/mcp/remote' })
  const { port, bridge } = await serveHere({ sources: [source] })
  const client = await aModernClient(`http://127.0.0.1:${port}/mcp/remote`)
  const call = async (name: string, input: Data = {}) =>
    toResult(await client.callTool({ name, arguments: { ...input } }))
  return { client, call, bridge }
}

async function aLocalAndRemoteReader(connections: readonly string[] = ['work']) {
  const store = await aRecordStore()
  for (const connection of connections)
    store.put(messages(), connection, someMessages(30), `${connection} mail`)
  const grant = store.grant({
    stream: 'messages',
    fields: ['id', 'sent_at', 'author', 'body', 'size', 'unread', 'thread'],
  })
  const local = await aReader(store, grant.token)
  const remote = await aRemoteReader(local.origin, grant.token)
  return { store, grant, local, remote }
}

/** URLs differ because remote records are cited at their own server. */
const withoutUrlsAndScores = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, item) => (key === 'url' || key === 'score' ? 0 : item)))

test('a remote source serves the same five tools with the same results as a local one', async () => {
  const { local, remote } = await aLocalAndRemoteReader()
  const calls: readonly [string, Data][] = [
    ['schema', {}],
    ['schema', { stream: 'messages' }],
    ['schema', { stream: 'messages', detail: 'full' }],
    ['query_records', { stream: 'messages', limit: 3, count: 'exact', filter: { unread: true } }],
    ['query_records', { stream: 'messages', filter: { size: { gte: 3, lt: 9 } }, sort: 'sent_at' }],
    ['query_records', { stream: 'messages', view: 'brief', expand: ['replies'], limit: 2 }],
    ['query_records', { stream: 'messages', fields: ['size'], limit: 2 }],
    ['query_records', { stream: 'messages', changes_since: 'beginning' }],
    ['aggregate', { stream: 'messages', metric: 'sum', field: 'size' }],
    ['aggregate', { stream: 'messages', metric: 'count', group_by: 'author', limit: 2 }],
    [
      'aggregate',
      { stream: 'messages', metric: 'count', group_by_time: 'sent_at', granularity: 'day' },
    ],
    ['search', { q: 'invoice', limit: 4 }],
    ['search', { q: 'invoice', streams: ['messages'], filter: { author: 'ann' } }],
    ['fetch', { id: 'work/messages:m3' }],
    ['fetch', { id: 'work/messages:m3', fields: ['size'] }],
  ]

  const [localTools, remoteTools] = [
    await local.client.listTools(),
    await remote.client.listTools(),
  ]
  const names = ({ tools }: typeof localTools) =>
    tools.map(({ name, inputSchema }) => [name, inputSchema])
  expect(names(remoteTools)).toEqual(names(localTools))
  for (const [tool, input] of calls) {
    const [localResult, remoteResult] = [
      await local.call(tool, input),
      await remote.call(tool, input),
    ]
    expect(remoteResult.isError, `${tool} ${remoteResult.text}`).toBe(false)
    expect(withoutUrlsAndScores(remoteResult.data), tool).toEqual(
      withoutUrlsAndScores(localResult.data),
    )
    if (tool !== 'fetch') expect(remoteResult.text, tool).toBe(localResult.text)
  }
})

test('remote pages, hits and changes can be followed to the end by the text alone', async () => {
  const { remote, store } = await aLocalAndRemoteReader()
  const follow = async (tool: string, input: Data) => {
    const texts: string[] = []
    for (let cursor: string | undefined; ; ) {
      const { text } = await remote.call(tool, { ...input, ...(cursor && { cursor }) })
      texts.push(text)
      cursor = /next_cursor "([^"]+)"/.exec(text)?.[1]
      if (!cursor) return texts
    }
  }

  const pages = await follow('query_records', { stream: 'messages', limit: 7 })
  const hits = await follow('search', { q: 'invoice', limit: 8 })
  const changes = await follow('query_records', {
    stream: 'messages',
    limit: 20,
    changes_since: 'beginning',
  })
  const [, bookmark = ''] = /next_changes_since "([^"]+)"/.exec(changes.at(-1) ?? '') ?? []
  store.put(messages(), 'work', [aMessage(3, { size: 99 })])
  const nextChanges = await remote.call('query_records', {
    stream: 'messages',
    changes_since: bookmark,
  })

  const ids = (texts: readonly string[]) => texts.join('\n').match(/"(?:work\/messages:)?m\d+"/g)
  expect(pages).toHaveLength(5)
  expect(new Set(ids(hits)).size).toBe(30)
  expect(changes).toHaveLength(2)
  expect(nextChanges.text.split('\n').slice(1)).toHaveLength(1)
  expect(nextChanges.text).toContain('"size":99')
})

test('a remote source reports errors in the same words as a local one', async () => {
  const { local, remote, store, grant } = await aLocalAndRemoteReader(['home', 'work'])
  const calls: readonly [string, Data, string][] = [
    ['query_records', { stream: 'messages' }, 'ambiguous_connection'],
    ['query_records', { stream: 'nope', connection_id: 'work' }, 'unknown_stream'],
    ['query_records', { stream: 'messages', connection_id: 'nope' }, 'connection_not_found'],
    [
      'query_records',
      { stream: 'messages', connection_id: 'work', filter: { labels: 'x' } },
      'unknown_field',
    ],
    ['query_records', { stream: 'messages', connection_id: 'work', sort: 'size' }, 'invalid_sort'],
    ['query_records', { stream: 'messages', connection_id: 'work', cursor: 'x' }, 'invalid_cursor'],
    [
      'query_records',
      { stream: 'messages', connection_id: 'work', expand: ['x'] },
      'invalid_expand',
    ],
    ['schema', { stream: 'messages', detail: 'full' }, 'ambiguous_schema_detail'],
    [
      'aggregate',
      { stream: 'messages', connection_id: 'work', metric: 'sum', field: 'author' },
      'invalid_argument',
    ],
    ['search', { q: 'x', filter: { size: 1 } }, 'invalid_filter'],
    ['fetch', { id: 'work/messages:nope' }, 'not_found'],
    ['fetch', { id: 'work/messages:m1', connection_id: 'home' }, 'conflicting_connection_id'],
  ]

  for (const [tool, input, code] of calls) {
    const [localResult, remoteResult] = [
      await local.call(tool, input),
      await remote.call(tool, input),
    ]
    expect([localResult.failure?.code, remoteResult.failure?.code], JSON.stringify(input)).toEqual([
      code,
      code,
    ])
    expect(remoteResult.failure?.message).toBe(localResult.failure?.message)
    expect(remoteResult.failure?.details ?? {}).toEqual(localResult.failure?.details ?? {})
  }
  store.writer.revoke(grant.id, Date.now())
  const revoked = await remote.call('search', { q: 'invoice' })
  expect(revoked.failure?.code).toBe('remote_refused')
  expect(revoked.text).not.toContain('Message')
})

test('a remote source does not start with an owner token, an invalid token or a shared mount', async () => {
  const { store, local, grant } = await aLocalAndRemoteReader()
  const owner = store.owner()
  const list = async (token: string, extraYaml = '', env = {}) => {
    const yaml = `sources:\n  - records: { server: "${local.origin}", token: "env://PDPP_TOKEN" }\n${extraYaml}`
    const cwd = await aProject({ 'drawbridge.yaml': yaml })
    return drawbridge(['list'], { cwd, env: { PDPP_TOKEN: token, ...env } })
  }

  const literal = `sources:\n  - records: { server: "http://data.example", token: "a-grant" }\n`
  const [
    withOwnerToken,
    withUnknownToken,
    withSharedMount,
    withOwnerVariable,
    valid,
    withPlainHttp,
  ] = await Promise.all([
    list(owner),
    list('nobody'),
    list(grant.token, '  - records: ./personal.db\n'),
    list(grant.token, '', { PDPP_OWNER_TOKEN: 'any' }),
    list(grant.token),
    drawbridge(['list'], { cwd: await aProject({ 'drawbridge.yaml': literal }) }),
  ])

  expect([withOwnerToken.code, withUnknownToken.code]).toEqual([77, 78])
  expect(withOwnerVariable).toMatchObject({ code: 77, stdout: '' })
  expect(withSharedMount.stderr).toContain('mount of its own')
  expect(withPlainHttp).toMatchObject({ code: 2, stderr: expect.stringContaining('must be https') })
  expect(valid).toMatchObject({ code: 0, stdout: expect.stringContaining('query_records') })
  for (const { stdout, stderr } of [
    withOwnerToken,
    withUnknownToken,
    withSharedMount,
    withOwnerVariable,
    valid,
  ])
    expect(stdout + stderr).not.toMatch(owner)
})

type Answer = (url: URL, response: ServerResponse) => void

/** A server of another implementation. */
async function aForeignServer(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    answer(new URL(request.url ?? '', 'http://here'), response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const aSchema = (kind: string | undefined) => ({
  data: {
    object: 'schema',
    ...(kind && { bearer: { token_kind: kind } }),
    connectors: [
      {
        connector_key: 'gmail',
        granted_connections: [{ connection_id: 'cin_1', display_name: 'Me' }],
        streams: [
          {
            name: 'messages',
            field_capabilities: {
              id: 't=string,eq',
              size: 't=number,eq,r=gte|lt,a=sum',
              body: 't=string,lex',
              secret: 't=string,g=false',
            },
          },
        ],
      },
    ],
  },
})

test.each([['owner'], ['something else'], [undefined]])(
  'a server that reports the token kind %s is not read',
  async (kind) => {
    const server = await aForeignServer((_, response) =>
      response.end(JSON.stringify(aSchema(kind))),
    )

    await expect(recordSource({ server, token: 'any' })).rejects.toMatchObject({
      reason: kind === 'owner' ? 'owner' : 'invalid',
    })
  },
)

test('fetch_url of a remote blob is not passed on', async () => {
  const store = await aRecordStore()
  const files = aStream('files', {
    primary_key: 'id',
    schema: { properties: { id: { type: 'string' }, blob_ref: { type: 'object' } } },
  })
  store.put(files, 'work', [{ id: 'a', blob_ref: { blob_id: 'b1', mime_type: 'image/png' } }])
  const { token } = store.grant({ stream: 'files' })
  const { origin } = await aReader(store, token)
  const { call } = await aRemoteReader(origin, token)

  const page = await call('query_records', { stream: 'files' })
  const document = await call('fetch', { id: 'work/files:a' })

  expect(page.data.data).toMatchObject({
    data: [{ data: { id: 'a', blob_ref: { blob_id: 'b1', mime_type: 'image/png' } } }],
  })
  expect(page.text + document.text).not.toContain('fetch_url')
})

test('the other contract generation is understood: wrapped data, capability flags, refused filters', async () => {
  const requestedPaths: string[] = []
  const server = await aForeignServer((url, response) => {
    requestedPaths.push(decodeURIComponent(url.pathname + url.search))
    if (url.pathname === '/v1/schema') return response.end(JSON.stringify(aSchema('client')))
    response.statusCode = url.search.includes('filter') ? 400 : 200
    const row = { object: 'record', id: 'a/b', stream: 'messages', emitted_at: '2026-01-01' }
    const data = { id: 'a/b', size: 1, secret: 'never' }
    if (url.pathname.endsWith('/records/a%2Fb'))
      return response.end(JSON.stringify({ ...row, connector_instance_id: 'cin_1', data }))
    const error = {
      code: 'invalid_request',
      message: 'filter[...] is not supported for client-token reads',
      retry_with: { field: 'connection_id', guidance: '' },
    }
    return response.end(
      JSON.stringify(
        response.statusCode === 200
          ? { object: 'list', data: [{ ...row, data }], has_more: true, next_cursor: 'c1' }
          : { error },
      ),
    )
  })
  const { call } = await aRemoteReader(server, 'any')

  const schema = await call('schema', { stream: 'messages' })
  const page = await call('query_records', { stream: 'messages', limit: 1 })
  const rejection = await call('query_records', {
    stream: 'messages',
    filter: { size: { gte: 1 } },
  })
  const document = await call('fetch', { id: 'cin_1/messages:a/b' })

  expect(schema.text).toContain('number eq range(gte|lt): size')
  expect(schema.text).toContain('string search: body')
  expect(page.text).toContain('next_cursor "c1"')
  expect(rejection.failure).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('not supported'),
    details: { retry_with: 'connection_id' },
  })
  expect(document.data).toMatchObject({ metadata: { record_id: 'a/b', connection_id: 'cin_1' } })
  expect(JSON.stringify([schema, page, document])).not.toMatch(/never|secret|connector_instance/)
  expect(requestedPaths).toContain(
    '/v1/streams/messages/records?connection_id=cin_1&filter[size][gte]=1',
  )
})

test('a remote server that is down, invalid, busy or redirecting gives the matching failure code', async () => {
  let behaviour: Answer = (_, response) => response.end(JSON.stringify(aSchema('client')))
  const server = await aForeignServer((url, response) => behaviour(url, response))
  const { call } = await aRemoteReader(server, 'a-token-of-a-grant')
  const redirectedRequests: unknown[] = []
  const redirectTarget = await aForeignServer((_, response) => {
    redirectedRequests.push(1)
    response.end('{}')
  })
  const behaviours: readonly [string, Answer][] = [
    ['remote_unavailable', (_, response) => response.destroy()],
    ['remote_unavailable', (_, response) => response.end('<html>')],
    ['remote_unavailable', (_, response) => response.end('{"data":[{"id":7}]}')],
    ['remote_unavailable', (_, response) => response.writeHead(500).end('{}')],
    [
      'remote_unavailable',
      (_, response) => response.writeHead(302, { location: redirectTarget }).end(),
    ],
    ['remote_refused', (_, response) => response.writeHead(401).end('{}')],
    ['remote_busy', (_, response) => response.writeHead(429, { 'retry-after': '7' }).end('{}')],
  ]

  for (const [code, next] of behaviours) {
    behaviour = next
    const { failure, text } = await call('query_records', { stream: 'messages' })
    expect(failure?.code, text).toBe(code)
    expect(text).not.toContain('a-token-of-a-grant')
  }
  expect(redirectedRequests).toEqual([])
})

test('a remote server that is unavailable at start is used once it is up', async () => {
  const { grant, local } = await aLocalAndRemoteReader()
  const unavailable = await aForeignServer((_, response) => response.writeHead(503).end('{}'))
  let target = unavailable
  const proxy = await aForeignServer(async (url, response) => {
    const answer = await fetch(`${target}${url.pathname}${url.search}`, {
      headers: { authorization: `Bearer ${grant.token}` },
    })
    response.writeHead(answer.status).end(await answer.text())
  })
  const { call } = await aRemoteReader(proxy, grant.token)

  const whileDown = await call('schema')
  target = local.origin
  const onceUp = await call('schema')

  expect(whileDown.failure?.code).toBe('remote_unavailable')
  expect(onceUp.text).toContain('stream messages')
})
