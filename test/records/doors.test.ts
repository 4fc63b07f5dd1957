import { request } from 'node:http'
import { expect, test } from 'vitest'
import { recordSource } from '../../src/runtime/records/open-records.ts'
import { aRecordStore, messages, someMessages } from '../support/a-record-store.ts'
import { serveHere } from '../support/serve-here.ts'

async function aStoreWithReader() {
  const store = await aRecordStore()
  store.put(messages(), 'work', someMessages(3))
  return { store, reader: store.grant({ stream: 'messages' }), owner: store.owner() }
}

async function twoStores() {
  const [first, second] = [await aStoreWithReader(), await aStoreWithReader()]
  const { port } = await serveHere({
    sources: [
      recordSource(first.store.file, { mount: '/mcp/first' }),
      recordSource(second.store.file, { mount: '/mcp/second' }),
    ],
  })
  const ask = async (path: string, bearer: string, init: RequestInit = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${bearer}`, ...init.headers },
    })
    const text = await response.text()
    return { status: response.status, text, code: /"code":"(\w+)"/.exec(text)?.[1] }
  }
  return { first, second, port, ask }
}

const list = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
}
const refused = { status: 403, code: 'owner_token_refused' }

test('of two stores, each says what is wrong with its own tokens', async () => {
  const { first, second, ask } = await twoStores()
  second.store.writer.revoke(second.reader.id, Date.now())

  expect(await ask('/v1/streams', first.reader.token)).toMatchObject({ status: 200 })
  expect(await ask('/v1/streams', second.owner)).toMatchObject(refused)
  expect(await ask('/v1/streams', second.reader.token)).toMatchObject({
    status: 403,
    code: 'grant_revoked',
  })
  expect(await ask('/v1/streams', 'drb_nobody')).toMatchObject({ status: 401 })
})

test('the token of one store’s owner is refused beside a reader’s of another', async () => {
  const { first, second, ask } = await twoStores()
  const { token } = first.reader
  const cookie = { headers: { cookie: `session=${second.owner}` } }

  expect(await ask(`/v1/search?q=${second.owner}`, token)).toMatchObject(refused)
  expect(await ask('/v1/streams', token, cookie)).toMatchObject(refused)
  expect(await ask(`/mcp/first?key=${second.owner}`, token, list)).toMatchObject(refused)
  expect(
    await ask('/mcp/first', token, { ...list, headers: { ...list.headers, ...cookie.headers } }),
  ).toMatchObject(refused)
})

test('an owner’s token in a path is refused, and not said again', async () => {
  const { first, second, ask } = await twoStores()
  const { token } = first.reader
  const disguised = second.owner.replace('drb_', '%64rb_')
  const paths = [
    `/v1/streams/${first.owner}`,
    `/v1/streams/messages/records/${disguised}`,
    `/v1/nope/${second.owner}`,
    `/.well-known/oauth-protected-resource/${second.owner}`,
    `/nope/${second.owner}`,
  ]

  for (const path of paths) {
    const answer = await ask(path, token)
    expect(answer, path).toMatchObject(refused)
    expect(answer.text).not.toContain(second.owner.slice(5))
  }
  expect(
    await ask(`/v1/ingest/${second.owner}`, first.owner, { method: 'POST', body: '{}' }),
  ).toMatchObject(refused)
})

test('a header that comes as a list is looked at, too', async () => {
  const { first, port } = await twoStores()
  const send = (cookies: string[]) =>
    new Promise((resolve, reject) =>
      request({
        port,
        host: '127.0.0.1',
        path: '/v1/streams',
        headers: { authorization: `Bearer ${first.reader.token}`, 'set-cookie': cookies },
      })
        .on('response', (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end(),
    )

  expect(await send(['a=100%', 'b=%zz'])).toBe(200)
  expect(await send(['a=1', `b=${first.owner}`])).toBe(403)
})
