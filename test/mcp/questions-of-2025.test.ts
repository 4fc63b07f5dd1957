import { afterEach, describe, expect, test, vi } from 'vitest'
import { ask, defineTool, definitionSource, type Question, z } from '../../src/index.ts'
import { until } from '../support/eventually.ts'
import { anInitialize, toLegacyHeaders } from '../support/legacy-request.ts'
import { serveHere } from '../support/serve-here.ts'
import { type PeerMessage, StdioPeer } from '../support/stdio-peer.ts'
import { framesOf, post } from '../support/wire.ts'

/** In 2025, a question is a request of the server while the call waits. */

const questions: Readonly<Record<string, Question>> = {
  form: {
    kind: 'form',
    message: 'Who are you?',
    schema: { type: 'object', properties: { name: { type: 'string' } } },
  },
  link: { kind: 'link', message: 'Sign in.', url: 'https://example.com/sign-in' },
  model: {
    kind: 'model',
    messages: [{ role: 'user', content: { type: 'text', text: 'The capital of France?' } }],
    maxTokens: 10,
  },
  roots: { kind: 'roots' },
}

const inquire = defineTool({
  name: 'inquire',
  description: 'Asks the client questions, and returns the answers.',
  category: 'analysis',
  schema: z.object({ kinds: z.array(z.string()) }),
  execute: ({ kinds }, { answers }) =>
    Object.keys(answers).length > 0
      ? { answers }
      : ask(Object.fromEntries(kinds.map((kind) => [kind, questions[kind] as Question]))),
})

const handshake = {
  ...anInitialize('opening'),
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    clientInfo: { name: 'test', version: '1.0.0' },
  },
}

/** A client with a 2025 connection. */
interface Peer {
  send(...messages: readonly object[]): void
  readonly messages: readonly PeerMessage[]
  receive(matches: (message: PeerMessage) => boolean): Promise<PeerMessage>
}

const transports: Readonly<Record<string, () => Promise<Peer>>> = {
  HTTP: async () => {
    const { url } = await serveHere({ sources: [definitionSource([inquire])] })
    const opening = await post(url, {
      headers: toLegacyHeaders(),
      body: JSON.stringify(handshake),
    })
    const headers = toLegacyHeaders(opening.headers.get('mcp-session-id') ?? '')
    const messages: PeerMessage[] = []
    const exchange = async (message: object) => {
      const response = await post(url, { headers, body: JSON.stringify(message) })
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
        const text = await response.text()
        if (text !== '') messages.push(JSON.parse(text))
        return
      }
      for await (const { data } of framesOf(response))
        if (data !== '') messages.push(JSON.parse(data))
    }
    return {
      messages,
      send: (...sent) => {
        for (const message of sent) void exchange(message).catch(() => {})
      },
      receive: async (matches) => {
        await until(() => messages.some(matches))
        return messages.find(matches) as PeerMessage
      },
    }
  },
  stdio: async () => {
    const { bridge } = await serveHere({ sources: [definitionSource([inquire])] })
    const peer = (await StdioPeer.connect(bridge)).read()
    peer.send(handshake)
    await peer.answerTo('opening')
    peer.messages.length = 0
    return peer
  },
}

describe.each(Object.entries(transports))('over %s', (_, connect) => {
  afterEach(() => vi.useRealTimers())

  const aCall = (id: unknown, ...kinds: readonly string[]) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'inquire', arguments: { kinds } },
  })
  const isQuestion = ({ id, method }: PeerMessage) => id !== undefined && method !== undefined
  const isAnswerTo = (id: unknown) => (message: PeerMessage) =>
    message.id === id && message.method === undefined
  const dataOf = ({ result }: PeerMessage) => result?.structuredContent

  test.each([
    [
      'form',
      'elicitation/create',
      { mode: 'form', message: 'Who are you?', requestedSchema: expect.anything() },
      { action: 'accept', content: { name: 'Ada' } },
    ],
    [
      'link',
      'elicitation/create',
      {
        mode: 'url',
        message: 'Sign in.',
        url: 'https://example.com/sign-in',
        elicitationId: expect.stringMatching(/./),
      },
      { action: 'accept' },
    ],
    [
      'model',
      'sampling/createMessage',
      { messages: expect.anything(), maxTokens: 10 },
      { role: 'assistant', model: 'none', content: { type: 'text', text: 'Paris' } },
    ],
    ['roots', 'roots/list', undefined, { roots: [{ uri: 'file:///project' }] }],
  ])('a question (%s) is answered', async (kind, method, params, answer) => {
    const peer = await connect()

    peer.send(aCall('call', kind))
    const question = await peer.receive(isQuestion)
    peer.send({ jsonrpc: '2.0', id: question.id, result: answer })
    const result = await peer.receive(isAnswerTo('call'))

    expect(question).toMatchObject({ method, ...(params && { params }) })
    expect(dataOf(result)).toEqual({ answers: { [kind]: answer } })
  })

  test('questions have ids of their own, and answers in any order find their question', async () => {
    const peer = await connect()

    peer.send(aCall(0, 'form', 'roots'), aCall(1, 'form'))
    await until(() => peer.messages.filter(isQuestion).length === 3)
    const asked = peer.messages.filter(isQuestion)
    for (const { id, method } of asked.toReversed())
      peer.send({
        jsonrpc: '2.0',
        id,
        result: method === 'roots/list' ? { roots: [] } : { action: 'accept', content: { id } },
      })
    const [first, second] = [await peer.receive(isAnswerTo(0)), await peer.receive(isAnswerTo(1))]

    expect(new Set(asked.map(({ id }) => id)).size).toBe(3)
    expect(dataOf(first)).toMatchObject({ answers: { roots: { roots: [] } } })
    const formIds = [first, second].map(
      (result) =>
        (dataOf(result) as { answers: { form: { content: object } } }).answers.form.content,
    )
    expect(formIds).not.toEqual([formIds[0], formIds[0]])
  })

  test('an error instead of an answer counts as a cancelled question', async () => {
    const peer = await connect()

    peer.send(aCall('call', 'form'))
    const { id } = await peer.receive(isQuestion)
    peer.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'Not now.' } })

    const result = await peer.receive(isAnswerTo('call'))
    expect(dataOf(result)).toEqual({ answers: { form: { action: 'cancel' } } })
  })

  test('a question without an answer is withdrawn, and counts as cancelled', async () => {
    const peer = await connect()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })

    peer.send(aCall('call', 'form'))
    await vi.waitFor(() => expect(peer.messages.some(isQuestion)).toBe(true))
    vi.advanceTimersByTime(56_000)
    vi.useRealTimers()

    const { id } = await peer.receive(isQuestion)
    const withdrawal = await peer.receive(({ method }) => method === 'notifications/cancelled')
    expect(withdrawal).toMatchObject({ params: { requestId: id } })
    expect(dataOf(await peer.receive(isAnswerTo('call')))).toEqual({
      answers: { form: { action: 'cancel' } },
    })
  })

  test('a cancelled call withdraws its question, and is not answered', async () => {
    const peer = await connect()

    peer.send(aCall('call', 'form'))
    const { id } = await peer.receive(isQuestion)
    const params = { requestId: 'call', reason: 'enough' }
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    const withdrawal = await peer.receive(({ method }) => method === 'notifications/cancelled')
    peer.send({ jsonrpc: '2.0', id, result: { action: 'accept', content: {} } })
    peer.send({ jsonrpc: '2.0', id: 'next', method: 'ping' })
    await peer.receive(isAnswerTo('next'))

    expect(withdrawal).toMatchObject({ params: { requestId: id } })
    expect(peer.messages.filter(isAnswerTo('call'))).toEqual([])
  })
})
