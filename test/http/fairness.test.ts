import { describe, expect, onTestFinished, test } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import type { HttpSession } from '../../src/mcp/legacy/http-session.ts'
import { minIdleMs, SessionRegistry, sessionLimits } from '../../src/mcp/legacy/session-registry.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { anInitialize, toLegacyHeaders } from '../support/legacy-request.ts'
import { aModernRequest, toModernHeaders } from '../support/modern-request.ts'
import { RawConnection, toBytes } from '../support/raw-http.ts'
import { type ServedHere, serveHere } from '../support/serve-here.ts'
import { asBearer, toTokenEntry } from '../support/tokens.ts'
import { aModernPost, answerOf, aPostOf2025, initializeSession, post } from '../support/wire.ts'

const megabyte = 1024 * 1024
const bodyLimit = 4 * megabyte
const tokens = ['ann', 'bob', 'eve'].map((subject) => toTokenEntry({ subject, scopes: [] }))

const echo = defineTool({
  name: 'echo',
  description: 'Returns the number of characters.',
  category: 'analysis',
  schema: z.object({ text: z.string() }),
  execute: ({ text }) => ({ characters: text.length }),
})

/** A tool that ends when the latch opens. */
const aHeldTool = (held: Latch, began: () => void = () => {}) =>
  defineTool({
    name: 'hold',
    description: 'Ends later.',
    category: 'analysis',
    schema: z.object({ text: z.string().optional() }),
    execute: async () => {
      began()
      await held.opened
      return 'held'
    },
  })

const toEchoPost = (characters: number) =>
  aModernPost('tools/call', { name: 'echo', arguments: { text: 'x'.repeat(characters) } })

async function openHeads({ port }: ServedHere, subject: string, count: number): Promise<void> {
  const message = aModernRequest('tools/call', { name: 'echo', arguments: { text: '' } })
  const headers = {
    ...toModernHeaders(message),
    ...asBearer(subject),
    'content-length': String(bodyLimit),
  }
  for (let index = 0; index < count; index++) {
    const connection = await RawConnection.open(port)
    onTestFinished(() => connection.close())
    // The head alone: memory is reserved for a body that never comes.
    connection.write(toBytes({ headers }))
  }
}

test('a caller whose bodies never arrive does not keep others from sending large ones', async () => {
  const server = await serveHere({ sources: [definitionSource([echo])], http: { tokens } })
  await openHeads(server, 'eve', 40)

  const response = await post(server.url, toEchoPost(megabyte), asBearer('ann'))

  expect(await answerOf(response)).toMatchObject({
    result: { structuredContent: { characters: megabyte } },
  })
})

test('a large request frees its place when its body is read, not when it is answered', async () => {
  const held = new Latch()
  let began = 0
  const { url } = await serveHere({
    sources: [definitionSource([echo, aHeldTool(held, () => void began++)])],
  })
  // More bytes than large bodies may take while they are received.
  const large = aModernPost('tools/call', {
    name: 'hold',
    arguments: { text: 'x'.repeat(bodyLimit - 1024) },
  })
  const calls = Array.from({ length: 17 }, () => post(url, large).then(answerOf))
  await eventually(() => expect(began).toBe(17))

  const response = await post(url, toEchoPost(megabyte))
  held.open()

  expect(response.status).toBe(200)
  for (const answer of await Promise.all(calls))
    expect(answer).toMatchObject({ result: { content: [{ text: 'held' }] } })
})

test('while others are active, the caller that sends most is told to wait, and they are not', async () => {
  const server = await serveHere({ sources: [definitionSource([echo])], http: { tokens } })
  const end = new AbortController()
  const send = (subject: string, characters: number) =>
    post(server.url, toEchoPost(characters), asBearer(subject), end.signal)
  let isFlooding = true
  const keepActive = async () => {
    while (isFlooding) await (await send('ann', 10)).text()
  }
  await send('ann', 10)
  const active = keepActive()

  const flood = Array.from({ length: 7 }, () => send('eve', bodyLimit - 1024))
  const firstWith = (expected: number) =>
    Promise.any(
      flood.map(async (sent) => {
        const response = await sent
        expect(response.status).toBe(expected)
        return response
      }),
    )
  const refused = await firstWith(503)
  const large = await send('ann', megabyte)
  isFlooding = false
  await active

  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(large.status).toBe(200)
  await firstWith(200)
  end.abort()
  await Promise.allSettled(flood)
})

test('a caller that is alone is never paced', async () => {
  const { url } = await serveHere({ sources: [definitionSource([echo])] })

  const statuses = await Promise.all(
    Array.from({ length: 5 }, async () => (await post(url, toEchoPost(bodyLimit - 1024))).status),
  )

  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('calls of one caller beyond its share are refused at once; other callers are not', async () => {
  const held = new Latch()
  let began = 0
  const { url, bridge } = await serveHere({
    sources: [definitionSource([echo, aHeldTool(held, () => void began++)])],
    policy: { limits: { concurrentCalls: 3 } },
    http: { tokens },
  })
  const hold = (subject: string) =>
    post(url, aModernPost('tools/call', { name: 'hold', arguments: {} }), asBearer(subject)).then(
      answerOf,
    )
  const running = [hold('eve'), hold('eve'), hold('eve')]
  await eventually(() => expect(began).toBe(3))

  const refused = await hold('eve')
  const other = await post(url, toEchoPost(2), asBearer('ann')).then(answerOf)
  held.open()
  await Promise.all(running)
  const later = await hold('eve')

  expect(refused.result).toMatchObject({
    isError: true,
    _meta: {
      'dev.drawbridge/failure': {
        code: 'rate_limited',
        retryable: true,
        details: { retry_after_ms: 1000 },
      },
    },
  })
  expect(other.result.structuredContent).toEqual({ characters: 2 })
  expect(later.result.isError).not.toBe(true)
  expect(bridge.audit.filter(({ code }) => code === 'rate_limited')).toMatchObject([
    { caller: 'eve', decisions: [{ step: 'concurrency', decision: 'refused' }] },
  ])
})

describe('without tokens, all clients are one caller, and', () => {
  const initializeAs = (name: string) => ({
    headers: toLegacyHeaders(),
    body: JSON.stringify({
      ...anInitialize(),
      params: { ...anInitialize().params, clientInfo: { name, version: '1' } },
    }),
  })
  const open = async (url: string, name: string) => {
    const response = await post(url, initializeAs(name))
    await response.text()
    return response.headers.get('mcp-session-id') ?? ''
  }
  const statusOf = async (url: string, session: string) =>
    (await post(url, aPostOf2025('ping', {}, session))).status

  test('a client that left dead sessions behind can connect again at once', async () => {
    const { url } = await serveHere({ sources: [definitionSource([echo])] })
    const first = await initializeSession(url)
    for (let count = 1; count < sessionLimits.perCaller; count++) await initializeSession(url)

    const reconnected = await initializeSession(url)

    expect([await statusOf(url, reconnected), await statusOf(url, first)]).toEqual([200, 404])
  })

  test('idle sessions on another mount make room, too', async () => {
    const source = definitionSource([echo])
    const { url } = await serveHere({
      sources: [
        { source, mount: '/mcp' },
        { source, mount: '/mcp/other' },
      ],
    })
    const first = await initializeSession(url)
    for (let count = 1; count < sessionLimits.perCaller; count++) await initializeSession(url)

    const onOther = await initializeSession(`${url}/other`)

    expect(await statusOf(`${url}/other`, onOther)).toBe(200)
    expect(await statusOf(url, first)).toBe(404)
  })

  test('a client that opens sessions without end displaces only its own', async () => {
    const { url } = await serveHere({ sources: [definitionSource([echo])] })
    const honest = await open(url, 'honest')
    const flooded = [await open(url, 'flooder')]
    for (let count = 0; count < 2 * sessionLimits.perCaller; count++)
      flooded.push(await open(url, 'flooder'))

    expect(await statusOf(url, honest)).toBe(200)
    expect(await statusOf(url, flooded.at(0) ?? '')).toBe(404)
    expect(await statusOf(url, flooded.at(-1) ?? '')).toBe(200)
  })
})

describe('between clients of one caller at different addresses', () => {
  let time = 0
  /** A full registry with one session of each client. */
  const aFullRegistry = (clients: readonly Pick<HttpSession, 'address'>[]) => {
    time = 0
    const registry = new SessionRegistry(() => time)
    const sessions = clients.map(({ address }, index) => {
      expect(registry.takePlace('ann', address)).toBe(true)
      const session = {
        id: String(index),
        subject: 'ann',
        address,
        session: { clientName: `client ${index}` },
        isIdle: true,
        lastSeen: index,
        close: () => {},
      } as unknown as HttpSession
      registry.add(session)
      return session
    })
    return { registry, isOpen: (index: number) => registry.get(String(index)) === sessions[index] }
  }
  const others = (toAddress: (index: number) => string) =>
    Array.from({ length: sessionLimits.perCaller - 1 }, (_, index) => ({
      address: toAddress(index),
    }))

  test('a flood of names from one address displaces only sessions of that address', () => {
    const { registry, isOpen } = aFullRegistry([{ address: 'honest' }, ...others(() => 'flooder')])

    time = 10 * minIdleMs

    expect(registry.takePlace('ann', 'flooder')).toBe(true)
    expect([isOpen(0), isOpen(1)]).toEqual([true, false])
  })

  test('a flood from many addresses displaces no session that was used within a minute', () => {
    const { registry, isOpen } = aFullRegistry([
      { address: 'honest' },
      ...others((index) => `flooder ${index}`),
    ])

    time = minIdleMs - 1
    expect(registry.takePlace('ann', 'one more flooder')).toBe(false)
    expect(isOpen(0)).toBe(true)

    time = minIdleMs
    expect(registry.takePlace('ann', 'one more flooder')).toBe(true)
    expect(isOpen(0)).toBe(false)
  })

  test('a client can always take the place of an idle session at its own address', () => {
    const { registry, isOpen } = aFullRegistry([{ address: 'honest' }, ...others(() => 'flooder')])

    expect(registry.takePlace('ann', 'honest')).toBe(true)
    expect([isOpen(0), isOpen(1)]).toEqual([false, true])
  })
})

test('a body that is not valid UTF-8 is refused with 400', async () => {
  const { url } = await serveHere({ sources: [definitionSource([echo])] })
  const { headers, body } = toEchoPost(4)
  const bytes = Buffer.from(body.replace('xxxx', 'x\u00e9xx'), 'latin1')

  const response = await fetch(url, { method: 'POST', headers, body: bytes })

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: -32600, message: 'The body is not valid UTF-8' },
  })
})

test('a body with more values than allowed is refused before it is parsed', async () => {
  const { bridge, url } = await serveHere({ sources: [definitionSource([echo])] })
  const value = Array(100_000).fill(1)
  const { headers, body } = aModernPost('tools/call', { name: 'echo', arguments: { value } })

  const overHttp = await fetch(url, { method: 'POST', headers, body })
  const inProcess = await bridge.fetch(new Request(url, { method: 'POST', headers, body }))

  for (const response of [overHttp, inProcess]) {
    expect(response.status).toBe(400)
    expect(await response.text()).toContain('more than 100000 values')
  }
})

test('a second request with the id of one that is running is refused in a 2025 session', async () => {
  const held = new Latch()
  let began = 0
  const { url } = await serveHere({
    sources: [definitionSource([aHeldTool(held, () => void began++)])],
  })
  const session = await initializeSession(url)
  const params = { name: 'hold', arguments: {} }
  const call = () =>
    post(url, {
      headers: toLegacyHeaders(session),
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
    })
  const first = call().then(answerOf)
  await eventually(() => expect(began).toBe(1))

  const second = await call()
  held.open()

  expect(second.status).toBe(400)
  expect(await second.json()).toMatchObject({ id: 7, error: { code: -32600 } })
  expect(await first).toMatchObject({ id: 7, result: { content: [{ text: 'held' }] } })
  const reused = await call()
  expect(await answerOf(reused)).toMatchObject({ id: 7, result: {} })
  await aWhile(20)
  expect(began).toBe(2)
})
