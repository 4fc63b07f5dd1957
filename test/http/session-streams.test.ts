import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { defineTool, definitionSource, z } from '../../src/index.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { toLegacyHeaders } from '../support/legacy-request.ts'
import { serveHere } from '../support/serve-here.ts'
import {
  answerOf,
  aPostOf2025,
  type Frame,
  framesOf,
  initializeSession,
  post,
} from '../support/wire.ts'

/** The streams of calls in 2025 sessions. */

/** A tool that reports each start, and ends when it is told to. */
function aHeldTool() {
  const finishers: ((text: string) => void)[] = []
  const abortedCalls: number[] = []
  const hold = defineTool({
    name: 'hold',
    description: 'Ends when it is told to.',
    category: 'read',
    schema: z.object({}),
    execute: (_, { signal, log, progress }) => {
      const index = finishers.length
      signal.addEventListener('abort', () => abortedCalls.push(index))
      progress(1, 2)
      for (const level of ['debug', 'warning', 'error'] as const) log(level, `call ${index}`)
      return new Promise<string>((resolve) => finishers.push(resolve))
    },
  })
  const finish = (index: number, text: string) => finishers[index]?.(text)
  return { hold, finishers, finish, abortedCalls }
}

const callIn = (session: string, id: string | number = 1, meta?: object) => ({
  headers: toLegacyHeaders(session),
  body: JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'hold', arguments: {}, ...(meta && { _meta: meta }) },
  }),
})

async function serveHeld() {
  const tool = aHeldTool()
  const { url } = await serveHere({ sources: [definitionSource([tool.hold])] })
  const session = await initializeSession(url)
  const quiet = aPostOf2025('logging/setLevel', { level: 'emergency' }, session)
  await post(url, quiet)
  const connections = new AbortController()
  onTestFinished(() => connections.abort())
  return { ...tool, url, session, signal: connections.signal }
}

const resume = (url: string, session: string, lastEventId: string, signal?: AbortSignal) =>
  fetch(url, {
    headers: {
      accept: 'text/event-stream',
      'mcp-session-id': session,
      'last-event-id': lastEventId,
    },
    signal: signal ?? null,
  })

const next = async (frames: AsyncGenerator<Frame>) => (await frames.next()).value as Frame

const textsOf = (frames: readonly Frame[]): unknown[] =>
  frames.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data).method ?? 'answer')

async function framesUntilEnd(response: Response): Promise<Frame[]> {
  const frames: Frame[] = []
  for await (const frame of framesOf(response)) frames.push(frame)
  return frames
}

test('DELETE cancels the running calls of a session and ends their streams', async () => {
  const { url, session, abortedCalls } = await serveHeld()
  const stream = await post(url, callIn(session))
  const listening = await fetch(url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': session },
  })

  const deletion = await fetch(url, {
    method: 'DELETE',
    headers: { 'mcp-session-id': session },
  })
  const frames = await framesUntilEnd(stream)

  expect(deletion.status).toBe(200)
  expect(textsOf(frames)).toEqual([])
  expect(await listening.text()).toBe('')
  expect(abortedCalls).toEqual([0])
})

test('an answer that was delivered is kept for a minute, and not for ever', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { url, session, finishers, finish } = await serveHeld()
  const stream = await post(url, callIn(session))
  await eventually(() => expect(finishers).toHaveLength(1))
  finish(0, 'done')
  const [{ id = '' } = {}] = await framesUntilEnd(stream)

  vi.advanceTimersByTime(61_000)
  const soon = await resume(url, session, id)
  vi.advanceTimersByTime(61_000)
  const late = await resume(url, session, id)

  expect(textsOf(await framesUntilEnd(soon))).toEqual(['answer'])
  expect(late.status).toBe(400)
})

test('a batch whose other calls are answered ends, although one was cancelled', async () => {
  const { url, session, finishers, finish } = await serveHeld()
  const batch = ['kept', 'cancelled'].map((id) => JSON.parse(callIn(session, id).body))
  const stream = await post(url, { ...callIn(session), body: JSON.stringify(batch) })
  await eventually(() => expect(finishers).toHaveLength(2))

  const params = { requestId: 'cancelled' }
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
  await post(url, { ...callIn(session), body: JSON.stringify(message) })
  finish(0, 'done')

  expect(textsOf(await framesUntilEnd(stream))).toEqual(['answer'])
})

test('a cancelled call is not answered, on its stream or when that is resumed', async () => {
  const { url, session, signal, finishers, finish, abortedCalls } = await serveHeld()
  const connection = new AbortController()
  const frames = framesOf(await post(url, callIn(session, 'cancelled'), {}, connection.signal))
  const { id = '' } = await next(frames)
  await eventually(() => expect(finishers).toHaveLength(1))

  const cancellation = {
    headers: toLegacyHeaders(session),
    body: JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'cancelled' },
    }),
  }
  const accepted = await post(url, cancellation)
  finish(0, 'too late')
  connection.abort()
  const resumed = await eventually(async () => {
    const response = await resume(url, session, id, signal)
    expect(response.status).toBe(200)
    return response
  })
  const received: Frame[] = []
  void (async () => {
    for await (const frame of framesOf(resumed)) received.push(frame)
  })().catch(() => {})
  await aWhile(50)

  expect(accepted.status).toBe(202)
  expect(abortedCalls).toEqual([0])
  expect(textsOf(received)).toEqual([])
})

test('the stream of a cancelled call ends after a while, and others stay open', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { url, session, finishers, finish } = await serveHeld()
  const cancelled = await post(url, callIn(session, 'cancelled'))
  const kept = await post(url, callIn(session, 'kept'))
  await eventually(() => expect(finishers).toHaveLength(2))
  const params = { requestId: 'cancelled' }
  const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params }
  await post(url, { ...callIn(session), body: JSON.stringify(message) })

  vi.advanceTimersByTime(121_000)
  const frames = await framesUntilEnd(cancelled)
  const resumed = await resume(url, session, frames[0]?.id ?? '')
  finish(1, 'done')

  expect(textsOf(frames)).toEqual([])
  expect(resumed.status).toBe(400)
  expect(textsOf(await framesUntilEnd(kept))).toEqual(['answer'])
})

describe('a lost stream of a call', () => {
  test('keeps what was sent meanwhile, in order, and the call goes on', async () => {
    const { url, session, finish, finishers, abortedCalls } = await serveHeld()
    await post(url, aPostOf2025('logging/setLevel', { level: 'warning' }, session))
    const connection = new AbortController()
    const call = callIn(session, 1, { progressToken: 'p' })
    const frames = framesOf(await post(url, call, {}, connection.signal))
    const { id = '' } = await next(frames)
    await eventually(() => expect(finishers).toHaveLength(1))

    connection.abort()
    await aWhile(20)
    finish(0, 'meanwhile')
    const resumed = await eventually(async () => {
      const response = await resume(url, session, id)
      expect(response.status).toBe(200)
      return framesUntilEnd(response)
    })
    const again = await framesUntilEnd(await resume(url, session, resumed[1]?.id ?? ''))

    expect(textsOf(resumed)).toEqual([
      'notifications/progress',
      'notifications/message',
      'notifications/message',
      'answer',
    ])
    expect(textsOf(again)).toEqual(['notifications/message', 'answer'])
    expect(resumed.map((frame) => Number(frame.id))).toEqual(
      resumed.map((frame) => Number(frame.id)).toSorted((a, b) => a - b),
    )
    expect(abortedCalls).toEqual([])
  })

  test('cannot be resumed twice at a time', async () => {
    const { url, session, signal, finish } = await serveHeld()
    const connection = new AbortController()
    const { id = '' } = await next(
      framesOf(await post(url, callIn(session), {}, connection.signal)),
    )
    const whileConnected = await resume(url, session, id)
    connection.abort()
    const resumed = await eventually(async () => {
      const response = await resume(url, session, id, signal)
      expect(response.status).toBe(200)
      return response
    })

    const second = await resume(url, session, id)
    finish(0, 'once')

    expect([whileConnected.status, second.status]).toEqual([409, 409])
    expect(await answerOf(resumed)).toMatchObject({ result: { content: [{ text: 'once' }] } })
  })

  test('gives each client only the events of its own stream', async () => {
    const { url, session, signal, finish } = await serveHeld()
    const connection = new AbortController()
    const [first, second] = [
      framesOf(await post(url, callIn(session, 1), {}, connection.signal)),
      await post(url, callIn(session, 2), {}, signal),
    ]
    const { id = '' } = await next(first)
    connection.abort()
    finish(1, 'of the second')
    finish(0, 'of the first')

    const resumed = await eventually(async () => {
      const response = await resume(url, session, id)
      expect(response.status).toBe(200)
      return framesUntilEnd(response)
    })

    expect(textsOf(resumed)).toEqual(['answer'])
    expect(resumed.at(-1)?.data).toContain('of the first')
    expect(await answerOf(second)).toMatchObject({
      id: 2,
      result: { content: [{ text: 'of the second' }] },
    })
  })
})

test('a batch is answered on one stream, with an answer for each of its requests', async () => {
  const { url, session, finish, finishers } = await serveHeld()
  const request = (id: string | number, method: string, params: object = {}) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  })
  const batch = [
    request(1, 'ping'),
    request('two', 'tools/call', { name: 'hold', arguments: {} }),
    request(3, 'no/such/method'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
  ]

  const response = await post(url, {
    headers: toLegacyHeaders(session),
    body: JSON.stringify(batch),
  })
  await eventually(() => expect(finishers).toHaveLength(1))
  finish(0, 'held')
  const answers = (await framesUntilEnd(response))
    .filter(({ data }) => data !== '')
    .map(({ data }) => JSON.parse(data))

  expect(answers.map(({ id }) => id)).toEqual([1, 3, 'two'])
  expect(answers.map((answer) => answer.error?.code ?? 'result')).toEqual([
    'result',
    -32601,
    'result',
  ])
})

test('a batch of too many messages is refused before any of them is judged', async () => {
  const { url, session } = await serveHeld()
  // Not valid JSON-RPC: a message that is judged would be a parse error.
  const body = JSON.stringify(Array(101).fill({}))

  const response = await post(url, { headers: toLegacyHeaders(session), body })

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({
    error: { code: -32600, message: expect.stringContaining('must not exceed 100 messages') },
  })
})

test('a batch with two requests of one id is refused before any of them runs', async () => {
  const { url, session, finishers } = await serveHeld()
  const { headers, body } = callIn(session)

  const response = await post(url, { headers, body: `[${body},${body}]` })

  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32600 } })
  expect(finishers).toEqual([])
})

test.each([
  ['debug', ['debug', 'warning', 'error']],
  ['warning', ['warning', 'error']],
  ['emergency', []],
])('at log level %s, a session receives %j', async (level, expected) => {
  const { url, session, finish, finishers } = await serveHeld()
  await post(url, aPostOf2025('logging/setLevel', { level }, session))

  const response = await post(url, callIn(session))
  await eventually(() => expect(finishers).toHaveLength(1))
  finish(0, 'done')
  const messages = (await framesUntilEnd(response))
    .filter(({ data }) => data !== '')
    .map(({ data }) => JSON.parse(data))

  expect(messages.flatMap(({ params }) => params?.level ?? [])).toEqual(expected)
})

test('a refused handshake opens no session', async () => {
  const { url } = await serveHeld()
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} })

  const response = await post(url, { headers: toLegacyHeaders(), body })

  expect(response.status).toBe(400)
  expect(response.headers.get('mcp-session-id')).toBeNull()
  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32602 } })
})
