import { createHash } from 'node:crypto'
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import { sessionLimits } from '../../src/mcp/legacy/sessions.ts'
import { aChangingSource } from '../support/a-changing-source.ts'
import { eventually } from '../support/eventually.ts'
import { aClientOf2025 } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'
import {
  anInitialize,
  answerOf,
  aRequestOf2025,
  type Frame,
  framesOf,
  openSession,
  post,
} from '../support/wire.ts'

const toHash = (secret: string) => `sha256:${createHash('sha256').update(secret).digest('hex')}`
const tokens = [
  { hash: toHash('of-ann'), subject: 'ann', scopes: ['admin'] },
  { hash: toHash('of-ann-for-less'), subject: 'ann', scopes: [] },
  { hash: toHash('of-bob'), subject: 'bob', scopes: ['admin'] },
]
const ann = { authorization: 'Bearer of-ann' }
const annForLess = { authorization: 'Bearer of-ann-for-less' }
const bob = { authorization: 'Bearer of-bob' }

const erase = defineTool({
  name: 'erase',
  description: 'Erases.',
  category: 'delete',
  permissions: ['admin'],
  schema: z.object({}),
  execute: () => 'erased',
})
const guarded = { sources: [definitionSource([erase])], http: { tokens } }

type Headers = Readonly<Record<string, string>>

const listIn = (session: string) => aRequestOf2025('tools/list', {}, session)
const endSession = (url: string, session: string, more: Headers = {}) =>
  fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session, ...more } })
const listenIn = (url: string, session: string, more: Headers = {}, signal?: AbortSignal) =>
  fetch(url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session, ...more },
    signal: signal ?? null,
  })

describe('the id of a session', () => {
  test('cannot be guessed: 128 bits or more of it are random, and none comes twice', async () => {
    const { url } = await serveHere(guarded)
    const ids: string[] = []
    for (let round = 0; round < 20; round++) {
      const opened = await Promise.all(Array.from({ length: 25 }, () => openSession(url, ann)))
      await Promise.all(opened.map((id) => endSession(url, id, ann)))
      ids.push(...opened)
    }

    expect(new Set(ids).size).toBe(500)
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]+$/)
    expect(Math.ceil(toBits(ids))).toBeGreaterThanOrEqual(128)
  })

  test('is given only to those whose initialize was accepted', async () => {
    const { url } = await serveHere(guarded)

    const response = await post(url, anInitialize(), { ...ann, accept: 'application/json' })

    expect(response.status).toBe(406)
    expect(response.headers.get('mcp-session-id')).toBeNull()
  })
})

describe('a session belongs to the caller who began it', () => {
  /** What a request of each kind inside a session is answered. */
  const tryAll = async (url: string, session: string, headers: Headers) => {
    const responses = [
      await post(url, listIn(session), headers),
      await listenIn(url, session, headers),
      await endSession(url, session, headers),
    ]
    return Promise.all(responses.map(async (one) => [one.status, await one.text()]))
  }

  test('an unknown one is 404', async () => {
    const { url } = await serveHere(guarded)

    const answers = await tryAll(url, crypto.randomUUID(), ann)

    expect(answers.map(([status]) => status)).toEqual([404, 404, 404])
  })

  test("somebody else's is 404 in the same words, and stays unharmed", async () => {
    const { url } = await serveHere(guarded)
    const session = await openSession(url, ann)

    const answers = await tryAll(url, session, bob)

    expect(answers).toEqual(await tryAll(url, crypto.randomUUID(), bob))
    expect((await post(url, listIn(session), ann)).status).toBe(200)
  })

  test('a call in it is judged by the token it comes with, not by the one that began it', async () => {
    const { url } = await serveHere(guarded)
    const session = await openSession(url, ann)
    const call = aRequestOf2025('tools/call', { name: 'erase', arguments: {} }, session)

    expect(await answerOf(await post(url, call, ann))).toHaveProperty('result')
    const refused = await post(url, call, annForLess)
    expect(refused.status).toBe(403)
    expect(refused.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_scope", scope="admin"',
    )
    expect(await answerOf(refused)).toHaveProperty('error.code', -31403)
  })

  test('it is not known on another mount', async () => {
    const [source] = guarded.sources as [ReturnType<typeof definitionSource>]
    const { url } = await serveHere({
      sources: [
        { source, mount: '/mcp' },
        { source, mount: '/mcp/other' },
      ],
    })
    const session = await openSession(url)

    expect((await post(`${url}/other`, listIn(session))).status).toBe(404)
    expect((await post(url, listIn(session))).status).toBe(200)
  })
})

describe('a session ends', () => {
  afterEach(() => vi.useRealTimers())

  test('with DELETE: its stream ends, and afterwards it is 404', async () => {
    const { url } = await serveHere(guarded)
    const session = await openSession(url, ann)
    const stream = await listenIn(url, session, ann)

    const ended = await endSession(url, session, ann)
    await stream.text()

    expect(ended.status).toBe(200)
    expect((await post(url, listIn(session), ann)).status).toBe(404)
    expect((await listenIn(url, session, ann)).status).toBe(404)
    expect((await endSession(url, session, ann)).status).toBe(404)
  })

  test('when nobody has used it for half an hour', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval'] })
    const { url } = await serveHere(guarded)
    const [used, unused] = [await openSession(url, ann), await openSession(url, ann)]

    vi.advanceTimersByTime(sessionLimits.idle / 2)
    const meanwhile = await post(url, listIn(used), ann)
    vi.advanceTimersByTime(sessionLimits.idle / 2 + 120_000)

    expect(meanwhile.status).toBe(200)
    expect((await post(url, listIn(used), ann)).status).toBe(200)
    expect((await post(url, listIn(unused), ann)).status).toBe(404)
  })

  test('but not while its stream is open: who listens is there', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval'] })
    const { url } = await serveHere(guarded)
    const session = await openSession(url, ann)
    await listenIn(url, session, ann)

    vi.advanceTimersByTime(sessionLimits.idle + 120_000)

    expect((await post(url, listIn(session), ann)).status).toBe(200)
  })
})

describe('one caller can hold only so many sessions', () => {
  test('one more is refused, others may go on, and ending one makes room', async () => {
    const { url } = await serveHere(guarded)
    const opened: string[] = []
    for (let count = 0; count < sessionLimits.perCaller; count++)
      opened.push(await openSession(url, ann))

    const refused = await post(url, anInitialize(), ann)
    const other = await post(url, anInitialize(), bob)
    await endSession(url, opened[0] ?? '', ann)
    const again = await post(url, anInitialize(), ann)

    expect([refused.status, other.status, again.status]).toEqual([429, 200, 200])
  })

  test('however many are begun at the same moment', async () => {
    const { url } = await serveHere(guarded)
    const attempts = sessionLimits.perCaller + 64

    const statuses = await Promise.all(
      Array.from({ length: attempts }, async () => {
        const response = await post(url, anInitialize(), ann)
        await response.text()
        return response.status
      }),
    )

    expect(statuses.filter((status) => status === 200)).toHaveLength(sessionLimits.perCaller)
    expect(statuses.filter((status) => status === 429)).toHaveLength(64)
  })

  test('one that was refused, or has ended, leaves nothing behind', async () => {
    const { url } = await serveHere(guarded)

    for (let count = 0; count < sessionLimits.perCaller; count++) {
      await post(url, anInitialize(), { ...ann, accept: 'application/json' })
      await endSession(url, await openSession(url, ann), ann)
    }

    // Had any of them kept its place, one of these would find none.
    for (let count = 0; count < sessionLimits.perCaller; count++)
      expect(await openSession(url, ann)).toMatch(/./)
  })
})

describe('a session is told what changes', () => {
  test('every session hears that the list of tools changed, and reads the new one', async () => {
    const { source, changeTools } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const clients = [await aClientOf2025(url), await aClientOf2025(url)]
    const told = clients.map(
      (client) =>
        new Promise((resolve) => {
          client.setNotificationHandler(ToolListChangedNotificationSchema, resolve)
        }),
    )

    changeTools()
    await Promise.all(told)

    for (const client of clients)
      expect((await client.listTools()).tools[0]?.description).toContain('version 2')
  })

  test('only who subscribed to a view hears of it, until it unsubscribes', async () => {
    const { source, update, changeTools } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const [subscriber, other] = [await aClientOf2025(url), await aClientOf2025(url)]
    const heard = { subscriber: [] as string[], other: [] as string[] }
    subscriber.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.subscriber.push(params.uri)
    })
    other.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard.other.push(params.uri)
    })
    /** What was announced before has arrived when a later change of the list has. */
    const settle = async () => {
      const told = [subscriber, other].map(
        (client) =>
          new Promise((resolve) => {
            client.setNotificationHandler(ToolListChangedNotificationSchema, resolve)
          }),
      )
      changeTools()
      await Promise.all(told)
    }

    await subscriber.subscribeResource({ uri: 'lamp://hall' })
    update('lamp://hall')
    update('lamp://attic')
    await settle()
    const whileSubscribed = structuredClone(heard)
    await subscriber.unsubscribeResource({ uri: 'lamp://hall' })
    update('lamp://hall')
    await settle()

    expect(whileSubscribed).toEqual({ subscriber: ['lamp://hall'], other: [] })
    expect(heard).toEqual(whileSubscribed)
  })

  test('a view that is not there cannot be subscribed to', async () => {
    const { source } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const client = await aClientOf2025(url)

    await expect(client.subscribeResource({ uri: 'lamp://cellar' })).rejects.toMatchObject({
      code: -32602,
    })
  })
})

describe('a stream that was lost can be taken up again', () => {
  const next = async (frames: AsyncGenerator<Frame>) => (await frames.next()).value as Frame

  test('with what was said meanwhile, once and in order, and then goes on', async () => {
    const { source, update } = aChangingSource()
    const { url } = await serveHere({ sources: [source] })
    const session = await openSession(url)
    for (const uri of ['lamp://hall', 'lamp://attic'])
      await post(url, aRequestOf2025('resources/subscribe', { uri }, session))
    const connection = new AbortController()
    const first = framesOf(await listenIn(url, session, {}, connection.signal))
    const uriIn = ({ data }: Frame) => JSON.parse(data).params.uri

    update('lamp://hall')
    const seen = await next(first)
    connection.abort()
    update('lamp://attic')
    update('lamp://hall')
    // Both are told 50 ms later; whether the stream is back by then must not matter.
    const resumed = await eventually(async () => {
      const response = await listenIn(url, session, { 'last-event-id': seen.id ?? '' })
      expect(response.status).toBe(200)
      return framesOf(response)
    })
    const missed = [await next(resumed), await next(resumed)]
    update('lamp://attic')
    const live = await next(resumed)

    expect(uriIn(seen)).toBe('lamp://hall')
    expect(missed.map(uriIn)).toEqual(['lamp://attic', 'lamp://hall'])
    expect(uriIn(live)).toBe('lamp://attic')
    expect(new Set([seen, ...missed, live].map(({ id }) => id)).size).toBe(4)
  })

  test('and then carries the answer of the call it was lost with', async () => {
    let finish: (value: string) => void = () => {}
    let runs = 0
    const slow = defineTool({
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
    const { url } = await serveHere({ sources: [definitionSource([slow])] })
    const session = await openSession(url)
    const connection = new AbortController()
    const call = aRequestOf2025('tools/call', { name: 'slow', arguments: {} }, session)

    const { id } = await next(framesOf(await post(url, call, {}, connection.signal)))
    connection.abort()
    const resumed = await eventually(async () => {
      const response = await listenIn(url, session, { 'last-event-id': id ?? '' })
      expect(response.status).toBe(200)
      return response
    })
    finish('done at last')

    expect(await answerOf(resumed)).toMatchObject({
      id: 1,
      result: { content: [{ type: 'text', text: 'done at last' }] },
    })
    expect(runs).toBe(1)
  })

  test('but not by another caller, and not from an event that never was', async () => {
    const { url } = await serveHere(guarded)
    const session = await openSession(url, ann)

    const others = await listenIn(url, session, { ...bob, 'last-event-id': '0' })
    const invented = await listenIn(url, session, { ...ann, 'last-event-id': 'no-such-event' })

    expect([others.status, invented.status]).toEqual([404, 400])
  })
})

/** How many bits of an id vary, as far as a sample shows: per place, the symbols seen there. */
function toBits(ids: readonly string[]): number {
  const length = Math.min(...ids.map((id) => id.length))
  return Array.from({ length }, (_, at) => Math.log2(new Set(ids.map((id) => id[at])).size)).reduce(
    (sum, bits) => sum + bits,
    0,
  )
}
