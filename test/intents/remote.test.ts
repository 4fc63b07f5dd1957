import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AgentDefinition, AgentError, intentSource } from '../../src/index.ts'
import type { IntentOptions } from '../../src/sources/intents/intent-options.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, anEnvelope, aPayer } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { serveHere } from '../support/serve-here.ts'

const failure = 'dev.drawbridge/failure'
const route = 'dev.drawbridge/route'
const keys = { k1: 'k'.repeat(32) }

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** An HTTP peer with a custom handler. */
async function aPeer(handler: Handler): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    handler(request, response, body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/intents`
}

const aRemote = (url: string, effects: 'read_only' | 'irreversible', rest = {}) => ({
  name: 'bank',
  url,
  capabilities: [{ intent: effects === 'read_only' ? 'Look' : 'Pay', description: 'x', effects }],
  ...rest,
})

const serve = (options: IntentOptions) => serveHere({ sources: [intentSource(options)] })

/** Serves the agents in one runtime and calls them from another. */
async function connectRuntimes(
  agents: readonly AgentDefinition[],
  { remoteOptions = {}, sharedOptions = {}, serveOptions = {} }: Record<string, object> = {},
) {
  const server = await serve({
    agents,
    node: 'bank',
    serve: { path: '/intents', ...serveOptions },
    ...sharedOptions,
  })
  const url = server.url.replace(/\/mcp$/, '/intents')
  const capabilities = agents.flatMap((agent) =>
    agent.capabilities.map(({ intent, effects, description = '' }) => ({
      intent,
      description,
      ...(effects && { effects }),
    })),
  )
  const router = await serve({
    remote: [{ name: 'bank', url, capabilities, ...remoteOptions }],
    node: 'shop',
    ...sharedOptions,
  })
  return { server: server.bridge, router: router.bridge, url }
}

describe('agents in another runtime over HTTP', () => {
  test('a remote agent is asked and answers in frames', async () => {
    const receivedMetadata: unknown[] = []
    const agent = anAgent('teller', {
      handle: (envelope) => {
        receivedMetadata.push(envelope.metadata)
        return { balance: 7 }
      },
    })
    const { router } = await connectRuntimes([agent])
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

    const result = await router.call('Look', { of: 'ann' }, { meta: { traceparent } })

    expect(result.structuredContent).toEqual({ balance: 7 })
    expect(result._meta?.[route]).toMatchObject({ agent: 'bank' })
    expect(receivedMetadata).toMatchObject([
      {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        identityChain: ['caller:local', 'proxy:shop:bank', 'caller:local'],
      },
    ])
  })

  test('a remote failure keeps its error code', async () => {
    const handle = () =>
      new AgentError('PAYLOAD_TOO_LARGE', 'Less, please.', { details: { most: 3 } })
    const { router } = await connectRuntimes([anAgent('teller', { handle })])

    const result = await router.call('Look')

    expect(result._meta?.[failure]).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: 'Less, please.',
      details: { most: 3, agent: 'bank' },
    })
  })

  test('answers and failures match those of a local agent', async () => {
    const agent = anAgent('teller', {
      handle: ({ payload }) => {
        if (payload.fail !== undefined)
          throw new AgentError('AGENT_ERROR', 'No.', { details: { why: payload.fail } })
        return { echo: payload }
      },
    })
    const { router } = await connectRuntimes([agent])
    const local = await serve({ agents: [agent] })

    for (const input of [{ a: [1, { b: null }] }, { fail: 'so' }]) {
      const [localResult, remoteResult] = [
        await local.bridge.call('Look', input),
        await router.call('Look', input),
      ]
      expect(remoteResult.content).toEqual(localResult.content)
      expect(remoteResult.structuredContent).toEqual(localResult.structuredContent)
      expect(remoteResult.isError).toBe(localResult.isError)
    }
  })

  test('a request sent three times takes effect once', async () => {
    let paid = 0
    const { url, server } = await connectRuntimes([
      aPayer('teller', { handle: () => ({ paid: ++paid }) }),
    ])
    const frame = toFrame(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

    const answers = await Promise.all([post(url, frame), post(url, frame)])
    const repeat = await post(url, frame)

    expect(paid).toBe(1)
    expect(repeat).toMatchObject({ messageType: 'response', body: { payload: { paid: 1 } } })
    expect(answers.map(({ body }) => body.payload ?? body.error.details.reason)).toContainEqual({
      paid: 1,
    })
    expect(server.executions.list({ limit: 10 })).toHaveLength(1)
  })

  test('governance of the serving runtime applies to incoming frames', async () => {
    const reached: unknown[] = []
    const source = intentSource({
      agents: [anAgent('teller', { handle: (envelope) => void reached.push(envelope) })],
      serve: { path: '/intents' },
    })
    const { url } = await serveHere({
      sources: [source],
      policy: { rules: [{ match: 'Look', approval: true }] },
    })

    const answer = await post(url.replace(/\/mcp$/, '/intents'), toFrame(anEnvelope()))

    expect(answer).toMatchObject({
      body: {
        status: 'error',
        error: { code: 'UNAUTHORIZED', details: { reason: 'approval_required' } },
      },
    })
    expect(reached).toEqual([])
  })

  test.each([
    ['no frame', 'nonsense', 'PROTOCOL_ERROR'],
    ['another protocol', { protocol: 'X', messageType: 'intent', body: {} }, 'PROTOCOL_ERROR'],
    [
      'another type',
      { protocol: 'INTENTUSNET/1.0', messageType: 'response', body: {} },
      'PROTOCOL_ERROR',
    ],
    [
      'no envelope',
      { protocol: 'INTENTUSNET/1.0', messageType: 'intent', body: {} },
      'VALIDATION_ERROR',
    ],
  ])('%s is answered with an error frame', async (_, frame, code) => {
    const { url } = await connectRuntimes([anAgent('teller')])

    expect(await post(url, frame)).toMatchObject({ messageType: 'error', body: { code } })
  })

  test('an unknown intent gives CAPABILITY_NOT_FOUND, and unknown routes give 404 or 405', async () => {
    const { url } = await connectRuntimes([anAgent('teller')])
    const frame = toFrame(anEnvelope({ intent: { name: 'Nothing', version: '1.0' } }))

    expect(await post(url, frame)).toMatchObject({
      body: { error: { code: 'CAPABILITY_NOT_FOUND' } },
    })
    expect((await fetch(url)).status).toBe(405)
    expect((await fetch(`${url}/more`)).status).toBe(404)
  })

  test('an answer above the size limit is an unknown outcome, not a refusal', async () => {
    let paid = 0
    const handle = () => ({ text: 'x'.repeat(1000), paid: ++paid })
    const source = intentSource({
      agents: [aPayer('teller', { handle })],
      serve: { path: '/intents' },
    })
    const remoteNode = await serveHere({
      sources: [source],
      policy: { limits: { resultSize: 100 } },
    })
    const url = remoteNode.url.replace(/\/mcp$/, '/intents')
    const router = await serve({ remote: [aRemote(url, 'irreversible')] })

    const result = await router.bridge.call('Pay', { order: 1 })

    expect(paid).toBe(1)
    expect(result._meta?.[failure]).toMatchObject({ code: 'outcome_unknown' })
  })

  test('an identity chain of nine proxies is rejected as a routing loop', async () => {
    const handledRequests: string[] = []
    const { url } = await connectRuntimes([
      anAgent('teller', { handle: () => void handledRequests.push('x') }),
    ])
    const identityChain = Array.from({ length: 9 }, (_, index) => `proxy:node-${index}:bank`)

    expect(await post(url, toFrame(anEnvelope({ metadata: { identityChain } })))).toMatchObject({
      messageType: 'error',
      body: { code: 'ROUTING_ERROR' },
    })
    expect(handledRequests).toEqual([])
  })

  test('frames and tools cannot share a path', async () => {
    const source = intentSource({ agents: [anAgent('a')], serve: { path: '/mcp' } })

    await expect(serveHere({ sources: [source] })).rejects.toThrow(/already in use/)
  })

  test('requests use the wire format of other runtimes: camel case and no extra fields', async () => {
    const bodies: string[] = []
    const url = await aPeer((_, response, body) => {
      bodies.push(body)
      response.end(
        JSON.stringify({
          protocol: 'INTENTUSNET/1.0',
          messageType: 'response',
          body: { status: 'ok', payload: { x: 1 }, metadata: {}, error: null },
        }),
      )
    })
    const { bridge } = await serve({ remote: [aRemote(url, 'read_only')] })

    const result = await bridge.call('Look', { q: 1 })

    const { body, ...frame } = JSON.parse(bodies[0] ?? '')
    expect(result.structuredContent).toEqual({ x: 1 })
    expect(frame).toMatchObject({ protocol: 'INTENTUSNET/1.0', messageType: 'intent' })
    expect(Object.keys(body).sort()).toEqual([
      'context',
      'intent',
      'metadata',
      'payload',
      'routing',
      'routingMetadata',
      'version',
    ])
    expect(Object.keys(body.metadata).sort()).toEqual([
      'createdAt',
      'identityChain',
      'requestId',
      'source',
      'traceId',
    ])
    expect(body.routing).toEqual({ strategy: 'direct', targetAgent: null, fallbackAgents: [] })
  })
})

describe('a faulty peer', () => {
  const answers: readonly [string, Handler, string, string][] = [
    ['resets', (request) => request.socket.destroy(), 'TRANSPORT_ERROR', 'unknown'],
    ['says 500', (_, response) => response.writeHead(500).end('x'), 'TRANSPORT_ERROR', 'unknown'],
    ['says 401', (_, response) => response.writeHead(401).end(), 'UNAUTHORIZED', 'failed'],
    ['says 429', (_, response) => response.writeHead(429).end(), 'RATE_LIMIT', 'failed'],
    ['says 404', (_, response) => response.writeHead(404).end('x'), 'PROTOCOL_ERROR', 'failed'],
    [
      'sends invalid JSON',
      (_, response) => response.end('{"protocol":'),
      'TRANSPORT_ERROR',
      'unknown',
    ],
    [
      'breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-length': 100 })
        response.write('{')
        setTimeout(() => response.destroy(), 10)
      },
      'TRANSPORT_ERROR',
      'unknown',
    ],
    [
      'never ends',
      (_, response) => {
        const timer = setInterval(() => response.write('x'.repeat(1 << 20)), 1)
        response.on('close', () => clearInterval(timer))
      },
      'PROTOCOL_ERROR',
      'unknown',
    ],
    ['is silent', () => {}, 'AGENT_TIMEOUT', 'unknown'],
    [
      'sends a body that is not a response',
      (_, response) =>
        response.end(
          JSON.stringify({ protocol: 'INTENTUSNET/1.0', messageType: 'response', body: 7 }),
        ),
      'PROTOCOL_ERROR',
      'unknown',
    ],
  ]

  test.each(answers)(
    'a peer that %s gives a typed failure by the deadline, and no second agent after an unknown outcome',
    async (_, handler, code, state) => {
      const url = await aPeer(handler)
      const { bridge } = await serve({
        remote: [aRemote(url, 'irreversible'), { ...aRemote(url, 'irreversible'), name: 'second' }],
        attemptTimeout: code === 'AGENT_TIMEOUT' ? 300 : 30_000,
      })
      const startedAt = performance.now()

      const result = await bridge.call('Pay', { order: 1 })

      expect(performance.now() - startedAt).toBeLessThan(atMost(4000))
      const failureMeta = result._meta?.[failure] as { code: string; details?: { code?: string } }
      const attempts = triedIn(result)
      expect(attempts[0]).toMatchObject({ agent: 'bank', outcome: code })
      if (state === 'unknown') {
        expect(failureMeta).toMatchObject({ code: 'outcome_unknown', details: { code } })
        expect(attempts).toHaveLength(1)
      } else expect(failureMeta.code).toBe(code)
    },
  )

  test('an unreachable agent has not acted, so the next agent is asked', async () => {
    const { bridge } = await serve({
      agents: [aPayer('zz', { priority: 900 })],
      remote: [aRemote('http://127.0.0.1:1/intents', 'irreversible')],
    })
    const target = bridge.call('Pay', { order: 2 })

    expect((await target)._meta?.[route]).toMatchObject({ agent: 'zz' })
    const remoteNode = await serve({
      remote: [
        aRemote('http://127.0.0.1:1/intents', 'irreversible'),
        aRemote(
          await aPeer((_, response) =>
            response.end(
              JSON.stringify({
                protocol: 'INTENTUSNET/1.0',
                messageType: 'response',
                body: { payload: { paid: 1 }, error: null },
              }),
            ),
          ),
          'irreversible',
          { name: 'open' },
        ),
      ],
    })
    const result = await remoteNode.bridge.call('Pay', { order: 3 })
    expect(result.structuredContent).toEqual({ paid: 1 })
    expect(result._meta?.[route]).toMatchObject({
      tried: [
        { agent: 'bank', outcome: 'AGENT_UNAVAILABLE', certainty: 'nothing' },
        { agent: 'open', outcome: 'ok' },
      ],
    })
  })

  test('an agent on another host needs an https URL', async () => {
    const { bridge } = await serve({
      remote: [aRemote('http://bank.example/intents', 'read_only')],
    })

    expect(bridge.diagnostics).toMatchObject([
      { code: 'agent_invalid', severity: 'error', pointer: '/remote/0' },
    ])
  })
})

describe('sealed envelopes', () => {
  test.each(['v2', 'v1'] as const)(
    'in %s are unreadable on the wire and transparent to caller and agent [I37, I38, I39, I40]',
    async (format) => {
      const wire: string[] = []
      const receivedPayloads: unknown[] = []
      const seal = { format, key: 'k1' }
      const agent = anAgent('teller', {
        handle: ({ payload }) => {
          receivedPayloads.push(payload)
          return { answer: 'the secret answer' }
        },
      })
      const remoteNode = await serve({
        agents: [agent],
        node: 'bank',
        keys,
        serve: { path: '/intents', seal },
      })
      const upstream = remoteNode.url.replace(/\/mcp$/, '/intents')
      const url = await aPeer(async (_, response, body) => {
        const answer = await fetch(upstream, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
        const text = await answer.text()
        wire.push(body, text)
        response.end(text)
      })
      const router = await serve({
        remote: [aRemote(url, 'read_only', { seal })],
        node: 'shop',
        keys,
      })

      const result = await router.bridge.call('Look', { question: 'the secret question' })

      expect(result.structuredContent).toEqual({ answer: 'the secret answer' })
      expect(receivedPayloads).toEqual([{ question: 'the secret question' }])
      expect(wire.join('')).not.toContain('secret')
      expect(JSON.stringify(result)).not.toMatch(/emcl|cipher|sealed/i)
      // The log holds the plain envelope: only the transport is sealed.
      const [{ id } = { id: '' }] = router.bridge.executions.list({ limit: 1 })
      const begunEvent = router.bridge.executions
        .find(id)
        ?.events.find((entry) => entry.event === 'begun')
      expect(begunEvent?.envelope.payload).toEqual({ question: 'the secret question' })
    },
  )

  test('are rejected with one message when replayed, changed or sent to another node', async () => {
    const frames: string[] = []
    const url = await aPeer((_, response, body) => {
      frames.push(body)
      response.end()
    })
    const seal = { format: 'v2' as const, key: 'k1' }
    const router = await serve({
      remote: [aRemote(url, 'read_only', { seal })],
      node: 'shop',
      keys,
    })
    await router.bridge.call('Look', { n: 1 })
    const frame = JSON.parse(frames[0] ?? '')
    const remoteNode = await serve({
      agents: [anAgent('teller')],
      node: 'bank',
      keys,
      serve: { path: '/intents', seal },
    })
    const otherNode = await serve({
      agents: [anAgent('teller')],
      node: 'thief',
      keys,
      serve: { path: '/intents', seal },
    })
    const address = remoteNode.url.replace(/\/mcp$/, '/intents')

    const first = await post(address, frame)
    const rejections = [
      await post(address, frame),
      await post(address, { ...frame, body: { ...frame.body, intent: 'Pay 1.0' } }),
      await post(address, {
        ...frame,
        body: { ...frame.body, data: frame.body.data.replace(/^./, 'A') },
      }),
      await post(otherNode.url.replace(/\/mcp$/, '/intents'), frame),
    ]

    expect(first).toMatchObject({ messageType: 'emcl' })
    for (const rejection of rejections)
      expect(rejection).toMatchObject({
        messageType: 'error',
        body: { code: 'EMCL_FAILURE', message: 'The message could not be opened.' },
      })
    expect(await post(address, toFrame(anEnvelope()))).toMatchObject({
      body: { code: 'EMCL_FAILURE' },
    })
  })

  test('take effect once across processes, whatever unsealed headers are added', async () => {
    const frames: string[] = []
    const url = await aPeer((_, response, body) => {
      frames.push(body)
      response.end()
    })
    const seal = { format: 'v2' as const, key: 'k1' }
    const router = await serve({
      remote: [aRemote(url, 'irreversible', { seal })],
      node: 'shop',
      keys,
    })
    await router.bridge.call('Pay', { order: 1 })
    const frame = JSON.parse(frames[0] ?? '')
    const store = `${await aProject({})}/store.db`
    let paid = 0
    const aBank = async () => {
      const source = intentSource({
        agents: [aPayer('teller', { handle: () => ({ paid: ++paid }) })],
        node: 'bank',
        keys,
        serve: { path: '/intents', seal },
      })
      const policy = { duplicates: { window: 0 } }
      return (await serveHere({ sources: [source], store, policy })).url.replace(
        /\/mcp$/,
        '/intents',
      )
    }

    const first = await post(await aBank(), frame)
    const second = await post(await aBank(), { ...frame, headers: { idempotencyKey: 'another' } })

    expect([first.messageType, second.messageType]).toEqual(['emcl', 'emcl'])
    expect(paid).toBe(1)
  })

  test('an unsealed answer to a sealed request is rejected', async () => {
    const unsealedFrame = {
      protocol: 'INTENTUSNET/1.0',
      messageType: 'response',
      body: { payload: { x: 1 }, error: null },
    }
    const url = await aPeer((_, response) => response.end(JSON.stringify(unsealedFrame)))
    const seal = { format: 'v2' as const, key: 'k1' }
    const { bridge } = await serve({ remote: [aRemote(url, 'read_only', { seal })], keys })

    const result = await bridge.call('Look')

    expect(result._meta?.[failure]).toMatchObject({ code: 'EMCL_FAILURE' })
  })
})

interface Result {
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

const triedIn = ({ _meta }: Result): readonly { agent: string; outcome: string }[] =>
  (_meta?.[route] as { tried: { agent: string; outcome: string }[] } | undefined)?.tried ?? []

const toFrame = (envelope: unknown) => ({
  protocol: 'INTENTUSNET/1.0',
  messageType: 'intent',
  headers: {},
  body: envelope,
})

async function post(url: string, frame: unknown) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(frame),
  })
  return JSON.parse(await response.text())
}
