import path from 'node:path'
import { expect, test } from 'vitest'
import { put } from '../support/a-project.ts'
import { aReader, aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { drawbridge } from '../support/run-cli.ts'

async function anOwner() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  const { token } = store.grant({ stream: 'messages' })
  const folder = path.dirname(store.file)
  await put(path.join(folder, 'drawbridge.yaml'), 'sources:\n  - records: ./personal.db\n')
  return { store, token, owner: store.owner(), folder, reader: await aReader(store, token) }
}

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const post = (url: string, headers: Record<string, string>, body: object = list) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  })

test('an owner’s token is refused wherever a request carries it [R18, R19, R20, R21]', async () => {
  const { reader, token, owner } = await anOwner()
  const good = { authorization: `Bearer ${token}` }
  const call = (input: object, more: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search', arguments: input, _meta: { ...meta, ...more } },
  })
  const carriers: Readonly<Record<string, Promise<Response>>> = {
    bearer: post(reader.url, { authorization: `Bearer ${owner}` }),
    'two bearers': post(reader.url, { authorization: `Bearer ${token}, Bearer ${owner}` }),
    'proxy authorization': post(reader.url, {
      ...good,
      'x-forwarded-authorization': `Bearer ${owner}`,
    }),
    'an api key': post(reader.url, { ...good, 'x-api-key': owner }),
    'a cookie': post(reader.url, { ...good, cookie: `session=${owner}` }),
    'the address': post(`${reader.url}?access_token=${owner}`, good),
    'an argument': post(reader.url, good, call({ q: owner })),
    metadata: post(reader.url, good, call({ q: 'invoice' }, { 'x/token': owner })),
    'metadata, in disguise': fetch(reader.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...good },
      body: JSON.stringify(call({ q: 'invoice' }, { 'x/token': owner })).replace(
        'drb_',
        '\\u0064rb_',
      ),
    }),
    'behind its own beginning': post(reader.url, { ...good, 'x-api-key': `drb_${owner}` }),
    'the resource server': fetch(`${reader.origin}/v1/schema`, {
      headers: { authorization: `Bearer ${owner}` },
    }),
    'its address': fetch(`${reader.origin}/v1/schema?access_token=${owner}`, { headers: good }),
  }

  for (const [carrier, sent] of Object.entries(carriers)) {
    const response = await sent
    const text = await response.text()
    expect(response.status, carrier).toBe(403)
    expect(text, carrier).not.toContain(owner)
    expect(text, carrier).not.toMatch(/"tools"|Message/)
  }
})

test('nothing starts with an owner’s token in its environment or configuration [R20, R21]', async () => {
  const { owner, token, folder } = await anOwner()
  const start = (env: Record<string, string>) => drawbridge(['serve', folder, '--stdio'], { env })
  const environments = [
    { DRAWBRIDGE_TOKEN: owner },
    { DRAWBRIDGE_TOKEN: token, SOME_NAME: `Bearer ${owner}` },
    { DRAWBRIDGE_TOKEN: token, PDPP_OWNER_TOKEN: 'anything' },
    { DRAWBRIDGE_TOKEN: token, PDPP_OWNER_SESSION_COOKIE: 'anything' },
  ]

  const ended = await Promise.all(environments.map(start))
  await put(
    path.join(folder, 'drawbridge.yaml'),
    `instructions: ${owner}\nsources:\n  - records: ./personal.db\n`,
  )
  const configured = await start({ DRAWBRIDGE_TOKEN: token })

  for (const { code, stdout, stderr } of [...ended, configured]) {
    expect({ code, stdout }).toEqual({ code: 77, stdout: '' })
    expect(stderr).not.toContain(owner)
  }
})

test('without a good token stdio does not start, and says so in one line', async () => {
  const { folder, store } = await anOwner()
  const revoked = store.grant({ stream: 'messages' })
  store.writer.revoke(revoked.id, Date.now())

  for (const env of [{}, { DRAWBRIDGE_TOKEN: 'nonsense' }, { DRAWBRIDGE_TOKEN: revoked.token }]) {
    const { code, stdout, stderr } = await drawbridge(['serve', folder, '--stdio'], { env })
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
  }
})

test('a read never widens its grant, nor tries again with more [R17]', async () => {
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

test('what is revoked is revoked with the next request, a part of it silently', async () => {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  store.put(messages(), 'home', someMessages(3))
  const given = store.grant({ stream: 'messages' })
  const reader = await aReader(store, given.token)

  store.writer.revoke(given.grants[0] ?? '', Date.now())
  const left = await reader.call('schema')
  store.writer.revoke(given.id, Date.now())
  const response = await post(reader.url, { authorization: `Bearer ${given.token}` })

  expect(left.text).toContain('1 connection,')
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ error: { data: { code: 'grant_revoked' } } })
  expect((await post(reader.url, { authorization: 'Bearer drb_nobody' })).status).toBe(401)
})
