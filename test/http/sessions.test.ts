import { createHash } from 'node:crypto'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { defineTool, defineView, definitionSource, z } from '../../src/index.ts'
import { readHandshake } from '../../src/mcp/legacy/handshake.ts'
import { sessionLimits } from '../../src/mcp/legacy/session-registry.ts'
import { maxIdleMs } from '../../src/mcp/legacy/sessions.ts'
import { aChangingSource } from '../support/a-changing-source.ts'
import { eventually } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { aClientOf2025 } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'
import { repository } from '../support/spawn-server.ts'
import { startProcess } from '../support/start-process.ts'
import {
  anInitializePost,
  answerOf,
  aPostOf2025,
  type Frame,
  framesOf,
  initializeSession,
  post,
} from '../support/wire.ts'

const toHash = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`
const tokens = [
  { hash: toHash('of-ann'), subject: 'ann', scopes: ['admin'] },
  { hash: toHash('of-ann-for-less'), subject: 'ann', scopes: [] },
  { hash: toHash('of-bob'), subject: 'bob', scopes: ['admin'] },
]
const ann = { authorization: 'Bearer of-ann' }
const annWithoutScope = { authorization: 'Bearer of-ann-for-less' }
const bob = { authorization: 'Bearer of-bob' }

const erase = defineTool({
  name: 'erase',
  description: 'Erases.',
  category: 'delete',
  permissions: ['admin'],
  schema: z.object({}),
  execute: () => 'erased',
})
const guardedOptions = { sources: [definitionSource([erase])], http: { tokens } }

type Headers = Readonly<Record<string, string>>

const listIn = (session: string) => aPostOf2025('tools/list', {}, session)
const endSession = (url: string, session: string, extraHeaders: Headers = {}) =>
  fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session, ...extraHeaders } })
const listenIn = (url: string, session: string, extraHeaders: Headers = {}, signal?: AbortSignal) =>
  fetch(url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...extraHeaders },
    signal: signal ?? null,
  })

describe('a session id', () => {
  test('has at least 128 random bits and is unique', async () => {
    const { url } = await serveHere(guardedOptions)
    const ids: string[] = []
    for (let round = 0; round < 20; round++) {
      const sessionIds = await Promise.all(
        Array.from({ length: 25 }, () => initializeSession(url, ann)),
      )
      await Promise.all(sessionIds.map((id) => endSession(url, id, ann)))
      ids.push(...sessionIds)
    }

    expect(new Set(ids).size).toBe(500)
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]+$/)
    expect(Math.ceil(toEntropyBits(ids))).toBeGreaterThanOrEqual(128)
  })

  test('is issued only for an accepted initialize', async () => {
    const { url } = await serveHere(guardedOptions)

    const response = await post(url, anInitializePost(), { ...ann, accept: 'application/json' })

    expect(response.status).toBe(406)
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })
})

describe('a session belongs to the caller that opened it', () => {
  /** Sends one request of each kind in a session and returns the responses. */
  const sendAll = async (url: string, session: string, headers: Headers) => {
    const responses = [
      await post(url, listIn(session), headers),
      await listenIn(url, session, headers),
      await endSession(url, session, headers),
    ]
    return Promise.all(responses.map(async (response) => [response.status, await response.text()]))
  }

  test('an unknown session is 404', async () => {
    const { url } = await serveHere(guardedOptions)

    const answers = await sendAll(url, crypto.randomUUID(), ann)

    expect(answers.map(([status]) => status)).toEqual([404, 404, 404])
  })

  test("another caller's session gives the same 404 and stays open", async () => {
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)

    const answers = await sendAll(url, session, bob)

    expect(answers).toEqual(await sendAll(url, crypto.randomUUID(), bob))
    expect((await post(url, listIn(session), ann)).status).toBe(200)
  })

  test('a call is authorised by its own token, not by the token that opened the session', async () => {
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)
    const call = aPostOf2025('tools/call', { name: 'erase', arguments: {} }, session)

    expect(await answerOf(await post(url, call, ann))).toHaveProperty('result')
    const refusal = await post(url, call, annWithoutScope)
    expect(refusal.status).toBe(403)
    expect(refusal.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="admin"',
    )
    expect(await answerOf(refusal)).toHaveProperty('error.code', -31403)
  })

  test('a session is unknown on another mount', async () => {
    const [source] = guardedOptions.sources as [ReturnType<typeof definitionSource>]
    const { url } = await serveHere({
      sources: [
        { source, mount: '/mcp' },
        { source, mount: '/mcp/other' },
      ],
    })
    const session = await initializeSession(url)

    expect((await post(`${url}/other`, listIn(session))).status).toBe(404)
    expect((await post(url, listIn(session))).status).toBe(200)
  })
})

describe('a session ends', () => {
  afterEach(() => vi.useRealTimers())

  test('with DELETE, which closes its stream and makes it 404', async () => {
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)
    const stream = await listenIn(url, session, ann)

    const deletion = await endSession(url, session, ann)
    await stream.text()

    expect(deletion.status).toBe(200)
    expect((await post(url, listIn(session), ann)).status).toBe(404)
    expect((await listenIn(url, session, ann)).status).toBe(404)
    expect((await endSession(url, session, ann)).status).toBe(404)
  })

  test('after half an hour without use', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
    const { url } = await serveHere(guardedOptions)
    const [usedSession, idleSession] = [
      await initializeSession(url, ann),
      await initializeSession(url, ann),
    ]

    vi.advanceTimersByTime(maxIdleMs / 2)
    const duringUse = await post(url, listIn(usedSession), ann)
    vi.advanceTimersByTime(maxIdleMs / 2 + 120_000)

    expect(duringUse.status).toBe(200)
    expect((await post(url, listIn(usedSession), ann)).status).toBe(200)
    expect((await post(url, listIn(idleSession), ann)).status).toBe(404)
  })

  test('not while its stream is open', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)
    const stream = await listenIn(url, session, ann)

    vi.advanceTimersByTime(maxIdleMs + 120_000)

    expect((await post(url, listIn(session), ann)).status).toBe(200)
    expect(stream.status).toBe(200)
  })

  test('not right after its stream is lost', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
    const { bridge, url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session, ...ann }
    // In process: the server has seen the end of the stream when `cancel` returns.
    const stream = await bridge.fetch(new Request(url, { headers }))

    vi.advanceTimersByTime(maxIdleMs + 120_000)
    await stream.body?.cancel()
    vi.advanceTimersByTime(120_000)

    expect((await post(url, listIn(session), ann)).status).toBe(200)
  })

  test('not right after the end of a call whose connection was lost', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
    const [started, held] = [new Latch(), new Latch()]
    const hold = defineTool({
      name: 'hold',
      description: 'Ends later.',
      category: 'read',
      schema: z.object({}),
      execute: async () => {
        started.open()
        await held.opened
        return 'held'
      },
    })
    const { bridge, url } = await serveHere({ sources: [definitionSource([hold])] })
    const session = await initializeSession(url)
    const connection = new AbortController()
    const call = aPostOf2025('tools/call', { name: 'hold', arguments: {} }, session)
    await post(url, call, {}, connection.signal)
    await started.opened
    connection.abort()

    vi.advanceTimersByTime(maxIdleMs + 120_000)
    held.open()
    await eventually(() => expect(bridge.audit).toHaveLength(1))
    vi.advanceTimersByTime(120_000)

    expect((await post(url, listIn(session))).status).toBe(200)
  })
})

describe('sessions per caller are limited', () => {
  test('one over the limit takes the place of the longest idle one, and leaves other callers alone', async () => {
    const { url } = await serveHere(guardedOptions)
    const ofBob = await initializeSession(url, bob)
    const sessionIds: string[] = []
    for (let count = 0; count < sessionLimits.perCaller; count++)
      sessionIds.push(await initializeSession(url, ann))
    const [first = '', second = ''] = sessionIds
    await post(url, listIn(first), ann)

    const oneMore = await initializeSession(url, ann)
    const statuses = [
      (await post(url, listIn(oneMore), ann)).status,
      (await post(url, listIn(first), ann)).status,
      (await post(url, listIn(second), ann)).status,
      (await post(url, listIn(ofBob), bob)).status,
    ]

    expect(statuses).toEqual([200, 200, 404, 200])
  })

  test('one over the limit is refused while all are in use', async () => {
    const { url } = await serveHere(guardedOptions)
    const sessionIds: string[] = []
    // Kept until the end: a response that is garbage-collected closes its connection.
    const streams: Response[] = []
    onTestFinished(() => Promise.all(streams.map(({ body }) => body?.cancel())).then(() => {}))
    for (let count = 0; count < sessionLimits.perCaller; count++) {
      const session = await initializeSession(url, ann)
      streams.push(await listenIn(url, session, ann))
      sessionIds.push(session)
    }

    const refusal = await post(url, anInitializePost(), ann)
    await endSession(url, sessionIds[0] ?? '', ann)
    const afterEnding = await post(url, anInitializePost(), ann)

    expect([refusal.status, afterEnding.status]).toEqual([429, 200])
    expect(await answerOf(refusal)).toHaveProperty('error.message', expect.stringMatching(/in use/))
  })

  test('under concurrent initialize requests', async () => {
    const { url } = await serveHere(guardedOptions)
    const attempts = sessionLimits.perCaller + 64

    const sessionIds = await Promise.all(
      Array.from({ length: attempts }, () => initializeSession(url, ann)),
    )
    const statuses = await Promise.all(
      sessionIds.map(async (session) => (await post(url, listIn(session), ann)).status),
    )

    expect(statuses.filter((status) => status === 200)).toHaveLength(sessionLimits.perCaller)
    expect(statuses.filter((status) => status === 404)).toHaveLength(64)
  })

  test('refused and ended sessions free their slots', async () => {
    const { url } = await serveHere(guardedOptions)

    for (let count = 0; count < sessionLimits.perCaller; count++) {
      await post(url, anInitializePost(), { ...ann, accept: 'application/json' })
      await endSession(url, await initializeSession(url, ann), ann)
    }

    // A leaked slot would make one of these fail.
    for (let count = 0; count < sessionLimits.perCaller; count++)
      expect(await initializeSession(url, ann)).toMatch(/./)
  })

  /** In a process of its own: garbage of other tests would hide a leak. */
  const measureMemory = (attempt: string) => `
    import { createDrawbridge } from 'drawbridge-mcp'
    const bridge = createDrawbridge({ sources: [] })
    const { port } = await bridge.listen({ port: 0 })
    const url = \`http://127.0.0.1:\${port}/mcp\`
    const body = ${JSON.stringify(anInitializePost().body)}
    const initialize = async (accept) => {
      const headers = { 'content-type': 'application/json', accept }
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.text()
      return response.headers.get('mcp-session-id')
    }
    const repeat = async (times) => {
      for (let count = 0; count < times; count++) { ${attempt} }
      gc()
      return process.memoryUsage().heapUsed / 1024
    }
    const kilobytes = await repeat(150)
    console.log('per session:', ((await repeat(200)) - kilobytes) / 200)
    await bridge.close()
  `
  const attempts = {
    refused: `if ((await initialize('application/json')) !== null) throw new Error('not refused')`,
    ended: `
      const session = await initialize('application/json, text/event-stream')
      const headers = { 'mcp-session-id': session }
      const { status } = await fetch(url, { method: 'DELETE', headers })
      if (status !== 200) throw new Error('not ended: ' + status)`,
  }

  test.each(Object.entries(attempts))('%s sessions leave no memory behind', async (_, attempt) => {
    const args = ['--expose-gc', '--input-type=module', '-e', measureMemory(attempt)]
    const script = startProcess(args, { cwd: repository })
    onTestFinished(() => void script.process.kill('SIGKILL'))

    const [, kilobytes] = await script.waitForOutput(/per session: (\S+)\n/)

    // A session that stays subscribed to announcements keeps its server: 8 kilobytes.
    expect(Number(kilobytes)).toBeLessThan(4)
    expect(await script.exited).toBe(0)
  })
})

test('a session keeps little of a large handshake, and knows which questions it can ask', async () => {
  const large = 'x'.repeat(1_000_000)

  const handshake = await readHandshake({
    protocolVersion: '2025-11-25',
    capabilities: {
      elicitation: { form: { large }, url: {} },
      roots: { listChanged: true },
      experimental: { large: { large } },
    },
    clientInfo: { name: large, version: '1' },
  })

  expect(handshake.clientName).toBe('x'.repeat(100))
  expect(handshake.client).toEqual({ elicitation: { form: {}, url: {} }, roots: {} })
})

describe('notifications in a session', () => {
  test('announce a changed tool list to every session', async () => {
    const { source, changeTools } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const clients = [await aClientOf2025(url), await aClientOf2025(url)]
    const notifications = clients.map(
      (client) =>
        new Promise((resolve) => {
          client.setNotificationHandler(ToolListChangedNotificationSchema, resolve)
        }),
    )

    changeTools()
    await Promise.all(notifications)

    for (const client of clients)
      expect((await client.listTools()).tools[0]?.description).toContain('version 2')
  })

  test('announce a view update to subscribers only, until they unsubscribe', async () => {
    const { source, update, changeTools } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const [subscriber, other] = [await aClientOf2025(url), await aClientOf2025(url)]
    const updates = { subscriber: [] as string[], other: [] as string[] }
    subscriber.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      updates.subscriber.push(params.uri)
    })
    other.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      updates.other.push(params.uri)
    })
    /** A later tool-list change marks that earlier notifications have arrived. */
    const settle = async () => {
      const notifications = [subscriber, other].map(
        (client) =>
          new Promise((resolve) => {
            client.setNotificationHandler(ToolListChangedNotificationSchema, resolve)
          }),
      )
      changeTools()
      await Promise.all(notifications)
    }

    await subscriber.subscribeResource({ uri: 'lamp://hall' })
    update('lamp://hall')
    update('lamp://attic')
    await settle()
    const updatesWhileSubscribed = structuredClone(updates)
    await subscriber.unsubscribeResource({ uri: 'lamp://hall' })
    update('lamp://hall')
    await settle()

    expect(updatesWhileSubscribed).toEqual({ subscriber: ['lamp://hall'], other: [] })
    expect(updates).toEqual(updatesWhileSubscribed)
  })

  test('can be subscribed to for URIs of at most 64 K characters together', async () => {
    const view = defineView({ uri: 'a://{b}', name: 'b', description: 'Any.', read: () => 'b' })
    const { url } = await serveHere({ sources: [definitionSource([view])] })
    const client = await aClientOf2025(url)
    const uris = Array.from({ length: 7 }, (_, index) => `a://${index}${'x'.repeat(10_000)}`)
    const [first = '', ...others] = uris
    const last = others.pop() ?? ''
    for (const uri of [first, ...others, first]) await client.subscribeResource({ uri })

    const refusal = client.subscribeResource({ uri: last })
    await expect(refusal).rejects.toMatchObject({ code: -32602 })
    await client.unsubscribeResource({ uri: first })

    await client.subscribeResource({ uri: last })
  })

  test('cannot be subscribed to for an unknown view', async () => {
    const { source } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const client = await aClientOf2025(url)

    await expect(client.subscribeResource({ uri: 'lamp://cellar' })).rejects.toMatchObject({
      code: -32602,
    })
  })
})

describe('a lost stream can be resumed', () => {
  const next = async (frames: AsyncGenerator<Frame>) => (await frames.next()).value as Frame

  test('with the missed events, once and in order, followed by live events', async () => {
    const { source, update } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const session = await initializeSession(url)
    for (const uri of ['lamp://hall', 'lamp://attic'])
      await post(url, aPostOf2025('resources/subscribe', { uri }, session))
    const connection = new AbortController()
    const first = framesOf(await listenIn(url, session, {}, connection.signal))
    const uriIn = ({ data }: Frame) => JSON.parse(data).params.uri

    update('lamp://hall')
    const firstFrame = await next(first)
    connection.abort()
    update('lamp://attic')
    update('lamp://hall')
    // Notifications are delayed by 50 ms; the stream may return before or after that.
    const resumedFrames = await eventually(async () => {
      const response = await listenIn(url, session, { 'last-event-id': firstFrame.id ?? '' })
      expect(response.status).toBe(200)
      return framesOf(response)
    })
    const missedFrames = [await next(resumedFrames), await next(resumedFrames)]
    update('lamp://attic')
    const liveFrame = await next(resumedFrames)

    expect(uriIn(firstFrame)).toBe('lamp://hall')
    expect(missedFrames.map(uriIn)).toEqual(['lamp://attic', 'lamp://hall'])
    expect(uriIn(liveFrame)).toBe('lamp://attic')
    expect(new Set([firstFrame, ...missedFrames, liveFrame].map(({ id }) => id)).size).toBe(4)
  })

  test('with the answer of the call it was lost with', async () => {
    let finish: (value: string) => void = () => {}
    let runs = 0
    const slowTool = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      category: 'write',
      schema: z.object({}),
      execute: () => {
        runs++
        return new Promise<string>((resolve) => {
          finish = resolve
        })
      },
    })
    const { url } = await serveHere({ sources: [definitionSource([slowTool])] })
    const session = await initializeSession(url)
    const connection = new AbortController()
    const call = aPostOf2025('tools/call', { name: 'slow', arguments: {} }, session)

    const { id } = await next(framesOf(await post(url, call, {}, connection.signal)))
    connection.abort()
    const resumedResponse = await eventually(async () => {
      const response = await listenIn(url, session, { 'last-event-id': id ?? '' })
      expect(response.status).toBe(200)
      return response
    })
    finish('done at last')

    expect(await answerOf(resumedResponse)).toMatchObject({
      id: 1,
      result: { content: [{ type: 'text', text: 'done at last' }] },
    })
    expect(runs).toBe(1)
  })

  test('only by its caller and from a known event', async () => {
    const { url } = await serveHere(guardedOptions)
    const session = await initializeSession(url, ann)

    const foreignResume = await listenIn(url, session, { ...bob, 'last-event-id': '0' })
    const unknownEvent = await listenIn(url, session, { ...ann, 'last-event-id': 'no-such-event' })

    expect([foreignResume.status, unknownEvent.status]).toEqual([404, 400])
  })
})

/** Estimates the entropy of an id: the log of the distinct symbols per position, summed. */
function toEntropyBits(ids: readonly string[]): number {
  const length = Math.min(...ids.map((id) => id.length))
  return Array.from({ length }, (_, at) => Math.log2(new Set(ids.map((id) => id[at])).size)).reduce(
    (sum, bits) => sum + bits,
    0,
  )
}
