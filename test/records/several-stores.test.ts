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

async function aServerOfTwoStores() {
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

const listRequest = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
}
const ownerTokenRefused = { status: 403, code: 'owner_token_refused' }

test('with two stores, a token is rejected with the reason of the store that issued it', async () => {
  const { first, second, ask } = await aServerOfTwoStores()
  second.store.writer.revoke(second.reader.id, Date.now())

  expect(await ask('/v1/streams', first.reader.token)).toMatchObject({ status: 200 })
  expect(await ask('/v1/streams', second.owner)).toMatchObject(ownerTokenRefused)
  expect(await ask('/v1/streams', second.reader.token)).toMatchObject({
    status: 403,
    code: 'grant_revoked',
  })
  expect(await ask('/v1/streams', 'drb_nobody')).toMatchObject({ status: 401 })
})

test('an owner token of one store is refused next to a valid reader token of another', async () => {
  const { first, second, ask } = await aServerOfTwoStores()
  const { token } = first.reader
  const cookie = { headers: { cookie: `session=${second.owner}` } }

  expect(await ask(`/v1/search?q=${second.owner}`, token)).toMatchObject(ownerTokenRefused)
  expect(await ask('/v1/streams', token, cookie)).toMatchObject(ownerTokenRefused)
  expect(await ask(`/mcp/first?key=${second.owner}`, token, listRequest)).toMatchObject(
    ownerTokenRefused,
  )
  expect(
    await ask('/mcp/first', token, {
      ...listRequest,
      headers: { ...listRequest.headers, ...cookie.headers },
    }),
  ).toMatchObject(ownerTokenRefused)
})

test('an owner token in a URL path is refused and not echoed', async () => {
  const { first, second, ask } = await aServerOfTwoStores()
  const { token } = first.reader
  const percentEncoded = second.owner.replace('drb_', '%64rb_')
  const paths = [
    `/v1/streams/${first.owner}`,
    `/v1/streams/messages/records/${percentEncoded}`,
    `/v1/nope/${second.owner}`,
    `/.well-known/oauth-protected-resource/${second.owner}`,
    `/nope/${second.owner}`,
  ]

  for (const path of paths) {
    const answer = await ask(path, token)
    expect(answer, path).toMatchObject(ownerTokenRefused)
    expect(answer.text).not.toContain(second.owner.slice(5))
  }
  expect(
    await ask(`/v1/ingest/${second.owner}`, first.owner, { method: 'POST', body: '{}' }),
  ).toMatchObject(ownerTokenRefused)
})

test('a header with several values is searched for owner tokens', async () => {
  const { first, port } = await aServerOfTwoStores()
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
