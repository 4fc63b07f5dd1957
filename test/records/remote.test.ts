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

/** One who reads at a server that has no records itself, and asks another one. */
async function aRemoteReader(server: string, token: string) {
  const source = await recordSource({ server, token }, { mount: '/mcp/far' })
  const { port, bridge } = await serveHere({ sources: [source] })
  const client = await aModernClient(`http://127.0.0.1:${port}/mcp/far`)
  const call = async (name: string, input: Data = {}) =>
    toResult(await client.callTool({ name, arguments: { ...input } }))
  return { client, call, bridge }
}

async function nearAndFar(connections: readonly string[] = ['work']) {
  const store = await aRecordStore()
  for (const connection of connections)
    store.put(messages(), connection, someMessages(30), `${connection} mail`)
  const given = store.grant({
    stream: 'messages',
    fields: ['id', 'sent_at', 'author', 'body', 'size', 'unread', 'thread'],
  })
  const near = await aReader(store, given.token)
  const far = await aRemoteReader(near.origin, given.token)
  return { store, given, near, far }
}

/** Addresses differ, since what lies elsewhere is cited there. */
const alike = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, item) => (key === 'url' || key === 'score' ? 0 : item)))

test('exactly the same five tools, and what they say is the same as where the records lie', async () => {
  const { near, far } = await nearAndFar()
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

  const [here, there] = [await near.client.listTools(), await far.client.listTools()]
  const names = ({ tools }: typeof here) =>
    tools.map(({ name, inputSchema }) => [name, inputSchema])
  expect(names(there)).toEqual(names(here))
  for (const [tool, input] of calls) {
    const [close, remote] = [await near.call(tool, input), await far.call(tool, input)]
    expect(remote.isError, `${tool} ${remote.text}`).toBe(false)
    expect(alike(remote.data), tool).toEqual(alike(close.data))
    if (tool !== 'fetch') expect(remote.text, tool).toBe(close.text)
  }
})

test('pages, hits and changes are followed to their end by the text alone', async () => {
  const { far, store } = await nearAndFar()
  const follow = async (tool: string, input: Data) => {
    const texts: string[] = []
    for (let cursor: string | undefined; ; ) {
      const { text } = await far.call(tool, { ...input, ...(cursor && { cursor }) })
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
  const [, mark = ''] = /next_changes_since "([^"]+)"/.exec(changes.at(-1) ?? '') ?? []
  store.put(messages(), 'work', [aMessage(3, { size: 99 })])
  const later = await far.call('query_records', { stream: 'messages', changes_since: mark })

  const ids = (texts: readonly string[]) => texts.join('\n').match(/"(?:work\/messages:)?m\d+"/g)
  expect(pages).toHaveLength(5)
  expect(new Set(ids(hits)).size).toBe(30)
  expect(changes).toHaveLength(2)
  expect(later.text.split('\n').slice(1)).toHaveLength(1)
  expect(later.text).toContain('"size":99')
})

test('what is wrong is said in the same words, and which connection without asking anybody', async () => {
  const { near, far, store, given } = await nearAndFar(['home', 'work'])
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
    const [close, remote] = [await near.call(tool, input), await far.call(tool, input)]
    expect([close.failure?.code, remote.failure?.code], JSON.stringify(input)).toEqual([code, code])
    expect(remote.failure?.message).toBe(close.failure?.message)
    expect(remote.failure?.details ?? {}).toEqual(close.failure?.details ?? {})
  }
  store.writer.revoke(given.id, Date.now())
  const revoked = await far.call('search', { q: 'invoice' })
  expect(revoked.failure?.code).toBe('remote_refused')
  expect(revoked.text).not.toContain('Message')
})

test('nothing starts with an owner’s token, with none that is good, or beside another source', async () => {
  const { store, near, given } = await nearAndFar()
  const owner = store.owner()
  const list = async (token: string, more = '', env = {}) => {
    const yaml = `sources:\n  - records: { server: "${near.origin}", token: "env://PDPP_TOKEN" }\n${more}`
    const cwd = await aProject({ 'drawbridge.yaml': yaml })
    return drawbridge(['list'], { cwd, env: { PDPP_TOKEN: token, ...env } })
  }

  const literal = `sources:\n  - records: { server: "http://data.example", token: "a-grant" }\n`
  const [owned, unknown, crowded, named, fine, open] = await Promise.all([
    list(owner),
    list('nobody'),
    list(given.token, '  - records: ./personal.db\n'),
    list(given.token, '', { PDPP_OWNER_TOKEN: 'any' }),
    list(given.token),
    drawbridge(['list'], { cwd: await aProject({ 'drawbridge.yaml': literal }) }),
  ])

  expect([owned.code, unknown.code]).toEqual([77, 78])
  expect(named).toMatchObject({ code: 77, stdout: '' })
  expect(crowded.stderr).toContain('mount of its own')
  expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('must be https') })
  expect(fine).toMatchObject({ code: 0, stdout: expect.stringContaining('query_records') })
  for (const { stdout, stderr } of [owned, unknown, crowded, named, fine])
    expect(stdout + stderr).not.toMatch(owner)
})

type Answer = (url: URL, response: ServerResponse) => void

/** A server that somebody else wrote. */
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
  'a server that says the token is %s is not read',
  async (kind) => {
    const server = await aForeignServer((_, response) =>
      response.end(JSON.stringify(aSchema(kind))),
    )

    await expect(recordSource({ server, token: 'any' })).rejects.toMatchObject({
      exitCode: kind === 'owner' ? 77 : 78,
    })
  },
)

test('an address that only its server answers is not given out', async () => {
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

test('the other generation of the contract is understood: wrapped, in flags, refusing filters', async () => {
  const asked: string[] = []
  const server = await aForeignServer((url, response) => {
    asked.push(decodeURIComponent(url.pathname + url.search))
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
  const refused = await call('query_records', { stream: 'messages', filter: { size: { gte: 1 } } })
  const document = await call('fetch', { id: 'cin_1/messages:a/b' })

  expect(schema.text).toContain('number eq range(gte|lt): size')
  expect(schema.text).toContain('string search: body')
  expect(page.text).toContain('next_cursor "c1"')
  expect(refused.failure).toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('not supported'),
    details: { retry_with: 'connection_id' },
  })
  expect(document.data).toMatchObject({ metadata: { record_id: 'a/b', connection_id: 'cin_1' } })
  expect(JSON.stringify([schema, page, document])).not.toMatch(/never|secret|connector_instance/)
  expect(asked).toContain('/v1/streams/messages/records?connection_id=cin_1&filter[size][gte]=1')
})

test('a server that does not answer, answers nonsense, is busy or sends elsewhere is told as such', async () => {
  let mood: Answer = (_, response) => response.end(JSON.stringify(aSchema('client')))
  const server = await aForeignServer((url, response) => mood(url, response))
  const { call } = await aRemoteReader(server, 'a-token-of-a-grant')
  const stolen: unknown[] = []
  const thief = await aForeignServer((_, response) => {
    stolen.push(1)
    response.end('{}')
  })
  const moods: readonly [string, Answer][] = [
    ['remote_unavailable', (_, response) => response.destroy()],
    ['remote_unavailable', (_, response) => response.end('<html>')],
    ['remote_unavailable', (_, response) => response.end('{"data":[{"id":7}]}')],
    ['remote_unavailable', (_, response) => response.writeHead(500).end('{}')],
    ['remote_unavailable', (_, response) => response.writeHead(302, { location: thief }).end()],
    ['remote_refused', (_, response) => response.writeHead(401).end('{}')],
    ['remote_busy', (_, response) => response.writeHead(429, { 'retry-after': '7' }).end('{}')],
  ]

  for (const [code, next] of moods) {
    mood = next
    const { failure, text } = await call('query_records', { stream: 'messages' })
    expect(failure?.code, text).toBe(code)
    expect(text).not.toContain('a-token-of-a-grant')
  }
  expect(stolen).toEqual([])
})

test('a server that is not there yet may come', async () => {
  const { given, near } = await nearAndFar()
  const gone = await aForeignServer((_, response) => response.writeHead(503).end('{}'))
  let target = gone
  const proxy = await aForeignServer(async (url, response) => {
    const answer = await fetch(`${target}${url.pathname}${url.search}`, {
      headers: { authorization: `Bearer ${given.token}` },
    })
    response.writeHead(answer.status).end(await answer.text())
  })
  const { call } = await aRemoteReader(proxy, given.token)

  const early = await call('schema')
  target = near.origin
  const late = await call('schema')

  expect(early.failure?.code).toBe('remote_unavailable')
  expect(late.text).toContain('stream messages')
})
