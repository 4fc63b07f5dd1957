import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { done } from '../../src/capability/outcome.ts'
import { noRules } from '../../src/capability/rules.ts'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import { defineAgent } from '../../src/sources/intents/agents/agent.ts'
import { intentSource } from '../../src/sources/intents/intent-source.ts'
import { movesMoney } from '../support/a-payment.ts'
import { put } from '../support/a-project.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { aCapability } from '../support/builders.ts'
import { RawConnection, toBytes } from '../support/raw-http.ts'
import { drawbridge, startDrawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'

async function anOwner() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const { token } = store.grant({ stream: 'messages' })
  const folder = path.dirname(store.file)
  await put(path.join(folder, 'drawbridge.yaml'), 'sources:\n  - records: ./personal.db\n')
  return { store, token, owner: store.owner(), folder, reader: await aReader(store, token) }
}

const listRequest = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const post = (url: string, headers: Record<string, string>, body: object = listRequest) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  })

test('an owner token is refused anywhere in an HTTP request [R18, R19, R20, R21]', async () => {
  const { reader, token, owner } = await anOwner()
  const authorized = { authorization: `Bearer ${token}` }
  const call = (input: object, extraMeta: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search', arguments: input, _meta: { ...meta, ...extraMeta } },
  })
  const carriers: Readonly<Record<string, Promise<Response>>> = {
    bearer: post(reader.url, { authorization: `Bearer ${owner}` }),
    'two bearers': post(reader.url, { authorization: `Bearer ${token}, Bearer ${owner}` }),
    'proxy authorization': post(reader.url, {
      ...authorized,
      'x-forwarded-authorization': `Bearer ${owner}`,
    }),
    'an api key': post(reader.url, { ...authorized, 'x-api-key': owner }),
    'a cookie': post(reader.url, { ...authorized, cookie: `session=${owner}` }),
    'the query string': post(`${reader.url}?access_token=${owner}`, authorized),
    'an argument': post(reader.url, authorized, call({ q: owner })),
    metadata: post(reader.url, authorized, call({ q: 'invoice' }, { 'x/token': owner })),
    'metadata with an escaped prefix': fetch(reader.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorized },
      body: JSON.stringify(call({ q: 'invoice' }, { 'x/token': owner })).replace(
        'drb_',
        '\\u0064rb_',
      ),
    }),
    'a repeated prefix': post(reader.url, { ...authorized, 'x-api-key': `drb_${owner}` }),
    'the resource server': fetch(`${reader.origin}/v1/schema`, {
      headers: { authorization: `Bearer ${owner}` },
    }),
    'its query string': fetch(`${reader.origin}/v1/schema?access_token=${owner}`, {
      headers: authorized,
    }),
  }

  for (const [carrier, pending] of Object.entries(carriers)) {
    const response = await pending
    const text = await response.text()
    expect(response.status, carrier).toBe(403)
    expect(text, carrier).not.toContain(owner)
    expect(text, carrier).not.toMatch(/"tools"|Message/)
  }
})

test('a duplicate Authorization header is searched for owner tokens as well', async () => {
  const { reader, token, owner } = await anOwner()
  const connection = await RawConnection.open(Number(new URL(reader.url).port))
  onTestFinished(() => connection.close())
  const send = (first: string, second: string) =>
    connection.send(
      toBytes({
        path: '/mcp/records',
        headers: {
          'content-type': 'application/json',
          Authorization: `Bearer ${first}`,
          authorization: `Bearer ${second}`,
        },
        body: JSON.stringify(listRequest),
      }),
    )

  const answers = [await send(token, owner), await send(owner, token)]

  for (const { status, body } of answers) {
    expect(status).toBe(403)
    expect(body).not.toContain(owner)
  }
})

test('the server does not start with an owner token in its environment or configuration [R20, R21]', async () => {
  const { owner, token, folder } = await anOwner()
  const start = (env: Record<string, string>) => drawbridge(['serve', folder, '--stdio'], { env })
  const environments = [
    { DRAWBRIDGE_TOKEN: owner },
    { DRAWBRIDGE_TOKEN: token, SOME_NAME: `Bearer ${owner}` },
    { DRAWBRIDGE_TOKEN: token, PDPP_OWNER_TOKEN: 'anything' },
    { DRAWBRIDGE_TOKEN: token, PDPP_OWNER_SESSION_COOKIE: 'anything' },
  ]

  const results = await Promise.all(environments.map(start))
  await put(
    path.join(folder, 'drawbridge.yaml'),
    `instructions: ${owner}\nsources:\n  - records: ./personal.db\n`,
  )
  const configured = await start({ DRAWBRIDGE_TOKEN: token })

  for (const { code, stdout, stderr } of [...results, configured]) {
    expect({ code, stdout }).toEqual({ code: 77, stdout: '' })
    expect(stderr).not.toContain(owner)
  }
})

test('on stdio an owner token is refused anywhere in a message and never echoed [R18, R20]', async () => {
  const { owner, token, folder } = await anOwner()
  const running = startDrawbridge(['serve', folder, '--stdio'], {
    env: { DRAWBRIDGE_TOKEN: token },
  })
  const lines = createInterface({ input: running.process.stdout })[Symbol.asyncIterator]()
  const send = (message: object, encode = (line: string) => line) =>
    running.process.stdin.write(`${encode(JSON.stringify({ jsonrpc: '2.0', ...message }))}\n`)
  const ask = async (message: object, encode?: (line: string) => string) => {
    send(message, encode)
    return JSON.parse((await lines.next()).value)
  }
  const call = (id: number, input: object, extraMeta: object = {}) => ({
    id,
    method: 'tools/call',
    params: { name: 'search', arguments: input, _meta: { ...meta, ...extraMeta } },
  })

  const firstCall = await ask(call(1, { q: 'invoice' }))
  const rejections = [
    await ask(call(2, { q: owner })),
    await ask(call(3, { q: 'invoice' }, { 'x/token': owner })),
    await ask(call(4, { q: 'invoice' }, { [owner]: 1 })),
    await ask(call(5, { q: 'invoice' }, { authorization: `Bearer%20${owner}` })),
    await ask(call(6, { q: 'invoice' }, { 'x/token': owner }), (line) =>
      line.replace('drb_', '\\u0064rb_'),
    ),
    await ask({ id: 7, method: 'nothing/known', params: { _meta: { token: owner } } }),
  ]
  send({ method: 'notifications/cancelled', params: { requestId: 1, reason: owner } })
  const nextCall = await ask(call(8, { q: 'invoice' }))

  for (const { error } of rejections)
    expect(error).toMatchObject({ code: -31403, data: { code: 'owner_token_refused' } })
  for (const { result } of [firstCall, nextCall])
    expect(result.structuredContent.results).toHaveLength(3)
  running.process.stdin.end()
  await running.exited
  expect(running.stdout() + running.stderr()).not.toContain(owner)
})

test('an owner token is never passed to another source, nor through the programmatic API', async () => {
  const { store, owner } = await anOwner()
  const receivedInputs: unknown[] = []
  const echo = aCapability({
    name: 'echo',
    invoke: async ({ input }) => {
      receivedInputs.push(input)
      return done({})
    },
  })
  const { bridge, url } = await serveHere({
    sources: [
      { id: 'other', read: async () => ({ capabilities: [echo] }) },
      recordSource(store.file, { mount: '/mcp/records' }),
    ],
  })
  const body = {
    ...listRequest,
    method: 'tools/call',
    params: { name: 'echo', arguments: { owner } },
  }

  expect((await post(url, { 'x-api-key': owner })).status).toBe(403)
  expect((await post(`${url}?token=${owner}`, {})).status).toBe(403)
  expect((await post(url, {}, body)).status).toBe(403)
  await expect(bridge.call('echo', {}, { meta: { owner } })).rejects.toThrow(
    'Owner tokens are refused',
  )
  await expect(bridge.call('echo', { owner })).rejects.toThrow('Owner tokens are refused')
  expect(receivedInputs).toEqual([])
})

test('an owner token in the body of a frame or of an approval is refused and never echoed', async () => {
  const { store, owner } = await anOwner()
  const frames: unknown[] = []
  const agent = defineAgent({
    name: 'clerk',
    capabilities: [{ intent: 'greet', description: 'Greets.', effects: 'read_only' }],
    handle: ({ payload }) => {
      frames.push(payload)
      return {}
    },
  })
  const pay = aCapability({
    name: 'pay',
    effects: movesMoney,
    rules: { ...noRules, approval: true },
  })
  const { bridge, url } = await serveHere({
    sources: [
      { id: 'payments', read: async () => ({ capabilities: [pay] }) },
      {
        source: intentSource({ agents: [agent], serve: { path: '/intents' } }),
        mount: '/mcp/agents',
      },
      recordSource(store.file, { mount: '/mcp/records' }),
    ],
  })
  const origin = url.replace(/\/mcp$/, '')
  await bridge.call('pay', {})
  const [approval] = bridge.approvals.list(false)

  const answers = [
    await post(`${origin}/intents`, {}, { protocol: 'INTENTUSNET/1.0', body: { note: owner } }),
    await post(
      `${origin}/approvals/${approval?.id}`,
      { authorization: `Bearer ${bridge.approverToken}` },
      { decision: 'approve', note: owner },
    ),
  ]

  for (const answer of answers) {
    expect(answer.status).toBe(403)
    expect(await answer.text()).not.toContain(owner)
  }
  expect(frames).toEqual([])
  expect(bridge.approvals.list(false)).toHaveLength(1)
})

test('stdio does not start without a valid token and reports that in one line', async () => {
  const { folder, store } = await anOwner()
  const revoked = store.grant({ stream: 'messages' })
  store.writer.revoke(revoked.id, Date.now())

  for (const env of [{}, { DRAWBRIDGE_TOKEN: 'nonsense' }, { DRAWBRIDGE_TOKEN: revoked.token }]) {
    const { code, stdout, stderr } = await drawbridge(['serve', folder, '--stdio'], { env })
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }
})

test('a read never widens its grant and never retries with more access [R17]', async () => {
  const { reader, store, token } = await anOwner()
  store.put(messages(), 'home', someMessages(3))
  store.put(messages('chat', 'letters'), 'team', someMessages(3))

  expect(
    (await reader.call('query_records', { stream: 'messages', connection_id: 'home' })).failure
      ?.code,
  ).toBe('connection_not_found')
  expect((await reader.call('query_records', { stream: 'letters' })).failure?.code).toBe(
    'unknown_stream',
  )
  expect((await reader.call('search', { q: 'invoice', limit: 100 })).data.results).toHaveLength(3)
  const response = await fetch(`${reader.origin}/v1/streams/letters/records`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(403)
})

test('a revocation takes effect with the next request, and a partial one without an error', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  store.put(messages(), 'home', someMessages(3))
  const grant = store.grant({ stream: 'messages' })
  const reader = await aReader(store, grant.token)

  store.writer.revoke(grant.grants[0] ?? '', Date.now())
  const remaining = await reader.call('schema')
  store.writer.revoke(grant.id, Date.now())
  const response = await post(reader.url, { authorization: `Bearer ${grant.token}` })

  expect(remaining.text).toContain('1 connection,')
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({
    error: {
      message: expect.stringMatching(/was revoked.*drawbridge grants create/),
      data: { code: 'grant_revoked' },
    },
  })
  expect((await post(reader.url, { authorization: 'Bearer drb_nobody' })).status).toBe(401)
})
