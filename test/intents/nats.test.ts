import { connect, type Msg, type NatsConnection } from '@nats-io/transport-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AgentDefinition, AgentError, intentSource } from '../../src/index.ts'
import type { IntentOptions } from '../../src/sources/intents/intent-options.ts'
import { aNatsServer, describeWithNats } from '../support/a-nats-server.ts'
import { aProject } from '../support/a-project.ts'
import { anAgent, anEnvelope, aPayer, neverSettle } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aWhile, eventually } from '../support/eventually.ts'
import { drawbridge } from '../support/run-cli.ts'
import { serveHere } from '../support/serve-here.ts'
import { tokenOf, toTokenEntry } from '../support/tokens.ts'

const failure = 'dev.drawbridge/failure'
const route = 'dev.drawbridge/route'
const keys = { k1: 'k'.repeat(32), k2: 'q'.repeat(32) }
const k1 = { key: 'k1' }

type Rest = Omit<Parameters<typeof serveHere>[0], 'sources'>

const serve = async (options: IntentOptions, rest: Rest = {}) =>
  (await serveHere({ sources: [intentSource(options)], ...rest })).bridge

/** A node that serves its agents over NATS. */
const aNode = (
  url: string,
  agents: readonly AgentDefinition[],
  { seal, node = 'bank', heartbeat = 5000, ...rest }: NodeParts = {},
) => serve({ agents, node, keys, serve: { nats: { url, heartbeat }, ...(seal && { seal }) } }, rest)

interface NodeParts extends Rest {
  readonly node?: string
  readonly heartbeat?: number
  readonly seal?: { readonly key: string; readonly format?: 'v1' | 'v2' }
}

const look = { intent: 'Look', description: 'Looks.', effects: 'read_only' as const }
const pay = { intent: 'Pay', description: 'Pays.', effects: 'irreversible' as const }

/** A router with the remote agent `bank` behind this NATS server. */
const aRouterTo = (url: string, rest: object = {}, routing: IntentOptions = {}) =>
  serve({
    remote: [{ name: 'bank', url, capabilities: [look, pay], ...rest }],
    node: 'shop',
    keys,
    ...routing,
  })

async function aConnection(url: string): Promise<NatsConnection> {
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  return connection
}

/** Subscribes to the agent's subject and answers with a custom reply. */
async function aFakeAgent(url: string, answer: (message: Msg) => void): Promise<NatsConnection> {
  const connection = await aConnection(url)
  connection.subscribe('intents.agent.bank', {
    callback: (_, message) => answer(message),
  })
  await connection.flush()
  return connection
}

/** The client's default is one second. */
const requestLimit = { timeout: 60_000 }

const toFrame = (body: unknown, messageType = 'response') =>
  JSON.stringify({ protocol: 'INTENTUSNET/1.0', messageType, body })

describeWithNats('agents over NATS', () => {
  test('a remote agent is asked by name, and the log records which replica answered', async () => {
    const { url } = await aNatsServer()
    const receivedMetadata: unknown[] = []
    await aNode(url, [
      anAgent('teller', {
        handle: ({ metadata }) => {
          receivedMetadata.push(metadata)
          return { balance: 7 }
        },
      }),
    ])
    const router = await aRouterTo(url)
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
    const [{ id } = { id: '' }] = router.executions.list({ limit: 1 })
    const answeredEvent = router.executions
      .find(id)
      ?.events.find(({ event }) => event === 'answered')
    expect(answeredEvent).toMatchObject({
      agent: 'bank',
      instance: expect.stringMatching(/^\w{16}$/),
    })
  })

  test('answers and failures match those of a local agent', async () => {
    const { url } = await aNatsServer()
    const agent = anAgent('teller', {
      handle: ({ payload }) => {
        if (payload.fail !== undefined)
          throw new AgentError('AGENT_ERROR', 'No.', { details: { why: payload.fail } })
        return { echo: payload }
      },
    })
    await aNode(url, [agent])
    const [router, localBridge] = [await aRouterTo(url), await serve({ agents: [agent] })]

    for (const input of [{ a: [1, { b: null }] }, { fail: 'so' }]) {
      const [localResult, remoteResult] = [
        await localBridge.call('Look', input),
        await router.call('Look', input),
      ]
      expect(remoteResult.content).toEqual(localResult.content)
      expect(remoteResult.structuredContent).toEqual(localResult.structuredContent)
      expect(remoteResult.isError).toBe(localResult.isError)
    }
  })

  test('replicas share the load and each request is handled once', async () => {
    const { url } = await aNatsServer()
    const handledCounts = [0, 0]
    for (const index of [0, 1])
      await aNode(url, [
        anAgent('teller', {
          handle: () => {
            handledCounts[index] = (handledCounts[index] ?? 0) + 1
          },
        }),
      ])
    const router = await aRouterTo(url)

    await Promise.all(Array.from({ length: 100 }, () => router.call('Look')))

    expect((handledCounts[0] ?? 0) + (handledCounts[1] ?? 0)).toBe(100)
    expect(Math.min(...handledCounts)).toBeGreaterThan(10)
  })

  test('a missing responder fails at once as not executed, so the next agent is asked', async () => {
    const { url } = await aNatsServer()
    const router = await serve({
      remote: [
        { name: 'bank', url, capabilities: [pay] },
        { name: 'other', url, capabilities: [pay] },
      ],
    })
    await router.call('Pay', { order: 0 })
    const startedAt = performance.now()

    const result = await router.call('Pay', { order: 1 })

    expect(performance.now() - startedAt).toBeLessThan(atMost(50))
    expect(result._meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect(result._meta?.[route]).toMatchObject({
      tried: [
        { agent: 'bank', outcome: 'AGENT_UNAVAILABLE', certainty: 'nothing' },
        { agent: 'other', outcome: 'AGENT_UNAVAILABLE', certainty: 'nothing' },
      ],
    })
  })

  test('an unreachable server fails at once, and the connection recovers when it starts', async () => {
    const server = await aNatsServer()
    await server.stop()
    const router = await aRouterTo(server.url)
    const startedAt = performance.now()

    const refusal = await router.call('Pay', { order: 1 })
    const durationMs = performance.now() - startedAt
    await server.start()
    await aNode(server.url, [aPayer('teller')])

    expect(durationMs).toBeLessThan(atMost(400))
    expect(refusal._meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect((await router.call('Pay', { order: 2 })).structuredContent).toEqual({ from: 'teller' })
  })

  test('a timed-out call is unknown, asks no other agent and aborts the remote agent', async () => {
    const { url } = await aNatsServer()
    const onAbort = vi.fn()
    const handle: AgentDefinition['handle'] = (_, { signal }) => {
      signal.addEventListener('abort', onAbort)
      return neverSettle()
    }
    await aNode(url, [aPayer('teller', { handle }), anAgent('looker')])
    const router = await serve({
      remote: [
        { name: 'bank', url, capabilities: [look, pay] },
        { name: 'other', url, node: 'bank', capabilities: [pay] },
      ],
      attemptTimeout: 2000,
    })
    // Connects first, so that the agent receives the payment long before the time-out.
    await eventually(async () => expect((await router.call('Look')).isError).toBeUndefined())

    const result = await router.call('Pay', { order: 1 })

    expect(result._meta?.[failure]).toMatchObject({
      code: 'outcome_unknown',
      details: { code: 'AGENT_TIMEOUT' },
    })
    expect(result._meta?.[route]).toMatchObject({ tried: [{ agent: 'bank' }] })
    await eventually(() => expect(onAbort).toHaveBeenCalledOnce())
  })

  test('a cancelled call aborts the remote agent', async () => {
    const { url } = await aNatsServer()
    const [onStart, onAbort] = [vi.fn(), vi.fn()]
    const handle: AgentDefinition['handle'] = (_, { signal }) => {
      onStart()
      signal.addEventListener('abort', onAbort)
      return neverSettle()
    }
    await aNode(url, [anAgent('teller', { handle })])
    const router = await aRouterTo(url)
    const controller = new AbortController()

    const call = router.call('Look', {}, { signal: controller.signal })
    await eventually(() => expect(onStart).toHaveBeenCalled())
    controller.abort()

    expect((await call).isError).toBe(true)
    await eventually(() => expect(onAbort).toHaveBeenCalledOnce())
  })

  test('a request sent three times takes effect once', async () => {
    const { url } = await aNatsServer()
    let paid = 0
    await aNode(url, [aPayer('teller', { handle: () => ({ paid: ++paid }) })])
    const connection = await aConnection(url)
    const frame = toFrame(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }), 'intent')

    const answers = []
    for (let count = 0; count < 3; count++)
      answers.push((await connection.request('intents.agent.bank', frame, requestLimit)).json())

    expect(paid).toBe(1)
    expect(answers).toMatchObject(Array(3).fill({ body: { payload: { paid: 1 } } }))
  })

  test('a request without a token is rejected when tokens are configured', async () => {
    const { url } = await aNatsServer()
    const entry = toTokenEntry({ subject: 'shop', scopes: [] })
    const receivedMetadata: unknown[] = []
    const handle: AgentDefinition['handle'] = ({ metadata }) => void receivedMetadata.push(metadata)
    await aNode(url, [anAgent('teller', { handle })], { http: { tokens: [entry] } })
    const [routerWithoutToken, routerWithToken] = [
      await aRouterTo(url),
      await aRouterTo(url, { token: tokenOf('shop') }),
    ]

    expect((await routerWithoutToken.call('Look'))._meta?.[failure]).toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('the operator of the calling server must configure'),
    })
    expect((await routerWithToken.call('Look')).isError).toBeUndefined()
    expect(receivedMetadata).toMatchObject([
      { identityChain: ['caller:local', 'proxy:shop:bank', 'caller:shop'] },
    ])
  })

  test('user and password are sent to the server, and a forbidden publish is not executed', async () => {
    const config = await aProject({
      'nats.conf': `authorization {
        users: [
          { user: ann, password: secret }
          { user: bob, password: secret, permissions: { publish: ["_INBOX.>", "elsewhere.>"] } }
        ]
      }`,
    })
    const { url } = await aNatsServer('-c', `${config}/nats.conf`)
    const access = { user: 'ann', password: 'secret' }
    await serve({
      agents: [aPayer('teller')],
      node: 'bank',
      serve: { nats: { url, access } },
    })
    const router = await aRouterTo(url, { access })
    const forbiddenRouter = await aRouterTo(url, { access: { ...access, user: 'bob' } })
    const wrongPassword = await aRouterTo(url, { access: { ...access, password: 'wrong' } })

    expect((await router.call('Pay', { order: 1 })).structuredContent).toEqual({ from: 'teller' })
    expect((await forbiddenRouter.call('Pay', { order: 2 }))._meta?.[failure]).toMatchObject({
      code: 'UNAUTHORIZED',
    })
    expect((await wrongPassword.call('Pay', { order: 3 }))._meta?.[failure]).toMatchObject({
      code: 'AGENT_UNAVAILABLE',
    })
  })

  test.each(['v1', 'v2'] as const)(
    'a message sealed in %s is not readable on the wire',
    async (format) => {
      const { url } = await aNatsServer()
      const wire: string[] = []
      const listener = await aConnection(url)
      listener.subscribe('>', { callback: (_, message) => void wire.push(message.string()) })
      await listener.flush()
      const seal = { ...k1, format }
      const handle = () => ({ answer: 'the secret answer' })
      await aNode(url, [anAgent('teller', { handle })], { seal, heartbeat: 60_000 })
      const router = await aRouterTo(url, { seal })

      const result = await router.call('Look', { question: 'the secret question' })

      expect(result.structuredContent).toEqual({ answer: 'the secret answer' })
      await eventually(() => expect(wire.join('')).toContain('emcl'))
      expect(wire.join('')).not.toContain('secret')
    },
  )

  const answers: readonly [string, (message: Msg) => void, string][] = [
    ['invalid JSON', (message) => message.respond('{"protocol":'), 'PROTOCOL_ERROR'],
    ['an empty message', (message) => message.respond(), 'PROTOCOL_ERROR'],
    ['a body that is not a response', (message) => message.respond(toFrame(7)), 'PROTOCOL_ERROR'],
    [
      'deeply nested JSON',
      (message) =>
        message.respond(toFrame({}).replace('{}', `${'['.repeat(9999)}${']'.repeat(9999)}`)),
      'PROTOCOL_ERROR',
    ],
    ['no message', () => {}, 'AGENT_TIMEOUT'],
  ]

  test.each(answers)(
    'a reply of %s gives a typed failure, and the payment is not tried elsewhere',
    async (_, answer, code) => {
      const { url } = await aNatsServer()
      await aFakeAgent(url, answer)
      const router = await serve({
        remote: [
          { name: 'bank', url, capabilities: [pay] },
          { name: 'other', url, node: 'bank', capabilities: [pay] },
        ],
        attemptTimeout: code === 'AGENT_TIMEOUT' ? 200 : 30_000,
      })

      const result = await router.call('Pay', { order: 1 })

      expect(result._meta?.[failure]).toMatchObject({ code: 'outcome_unknown', details: { code } })
      expect(result._meta?.[route]).toMatchObject({ tried: [{ agent: 'bank', outcome: code }] })
    },
  )

  test('the first reply wins, and an unsealed reply to a sealed request is rejected', async () => {
    const { url } = await aNatsServer()
    await aFakeAgent(url, (message) => {
      for (const n of [1, 2]) message.respond(toFrame({ payload: { n }, error: null }))
    })
    const [plainRouter, sealedRouter] = [await aRouterTo(url), await aRouterTo(url, { seal: k1 })]

    expect((await plainRouter.call('Look')).structuredContent).toEqual({ n: 1 })
    expect((await sealedRouter.call('Pay', { order: 1 }))._meta?.[failure]).toMatchObject({
      code: 'outcome_unknown',
      details: { code: 'EMCL_FAILURE' },
    })
  })

  test('an oversized request is not sent, and an oversized reply is an unknown outcome', async () => {
    const { url } = await aNatsServer()
    const reached = vi.fn()
    const handle: AgentDefinition['handle'] = () => {
      reached()
      return { text: 'x'.repeat(1_100_000) }
    }
    await aNode(url, [aPayer('teller', { handle })])
    const router = await aRouterTo(url)

    const oversizedResult = await router.call('Pay', { text: 'x'.repeat(1_100_000) })
    expect(oversizedResult._meta?.[failure]).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(reached).not.toHaveBeenCalled()

    const result = await router.call('Pay', { order: 1 })
    expect(result._meta?.[failure]).toMatchObject({ code: 'outcome_unknown' })
    expect(reached).toHaveBeenCalledOnce()
  })

  test('an invalid frame is answered with an error frame', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const connection = await aConnection(url)

    for (const [body, code] of [
      ['nonsense', 'PROTOCOL_ERROR'],
      [toFrame({}, 'intent'), 'VALIDATION_ERROR'],
      [toFrame({}, 'emcl'), 'PROTOCOL_ERROR'],
    ] as const)
      expect(
        (await connection.request('intents.agent.bank', body, requestLimit)).json(),
      ).toMatchObject({
        messageType: 'error',
        body: { code },
      })
  })

  test('a tls: address never falls back to plain text', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const router = await aRouterTo(url.replace('nats:', 'tls:'))

    expect((await router.call('Look'))._meta?.[failure]).toMatchObject({
      code: 'AGENT_UNAVAILABLE',
    })
  })

  test('subjects use the prefix of the address, and node names are escaped to one token', async () => {
    const { url } = await aNatsServer()
    const subjects: string[] = []
    const listener = await aConnection(url)
    listener.subscribe('>', { callback: (_, { subject }) => void subjects.push(subject) })
    await listener.flush()
    await aNode(`${url}/acme.shop`, [anAgent('teller')], { node: 'bank.one' })
    const router = await aRouterTo(`${url}/acme.shop`, { node: 'bank.one' })

    expect((await router.call('Look')).structuredContent).toEqual({ from: 'teller' })
    await eventually(() => expect(subjects).toContain('acme.shop.agent.bank%2Eone'))
  })
})

describeWithNats('reloading a node', () => {
  test('in-flight calls are answered by the old source and new calls by the new one', async () => {
    const { url } = await aNatsServer()
    const aSource = (handle: AgentDefinition['handle']) =>
      intentSource({
        agents: [anAgent('teller', { handle })],
        node: 'bank',
        serve: { nats: { url } },
      })
    let finish: (value: unknown) => void = () => {}
    const onStart = vi.fn()
    const slowSource = aSource(() => {
      onStart()
      return new Promise((resolve) => {
        finish = resolve
      })
    })
    const { bridge } = await serveHere({ sources: [slowSource] })
    const router = await aRouterTo(url)

    const inFlight = router.call('Look')
    await eventually(() => expect(onStart).toHaveBeenCalled())
    await bridge.replace([{ source: aSource(() => ({ from: 'the new one' })), mount: '/mcp' }])
    const next = await router.call('Look')
    finish({ from: 'the old one' })

    expect(next.structuredContent).toEqual({ from: 'the new one' })
    expect((await inFlight).structuredContent).toEqual({ from: 'the old one' })
  })
})

describeWithNats('agent discovery over NATS', () => {
  const aDiscoverer = (url: string, rest: object = {}, routing: IntentOptions = {}) =>
    serve({ discover: { url, ...rest }, node: 'shop', keys, ...routing })

  const names = async (bridge: Awaited<ReturnType<typeof serve>>) =>
    (await bridge.list()).tools.map(({ name }) => name)

  /**
   * A router whose first list has these tools. It waits 200 ms for announcements, which a busy machine
   * can miss: then another router is started.
   */
  const aDiscovererOf = (tools: readonly string[], ...options: Parameters<typeof aDiscoverer>) =>
    eventually(async () => {
      const router = await aDiscoverer(...options)
      expect(await names(router)).toEqual(tools)
      return router
    })

  test('announced agents are callable without further configuration', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller'), aPayer('cashier')])

    const router = await aDiscovererOf(['Look', 'Pay'], url)

    const { tools } = await router.list()
    expect(tools[1]?.annotations).toMatchObject({ destructiveHint: true, readOnlyHint: false })
    expect((await router.call('Look')).structuredContent).toEqual({ from: 'teller' })
  })

  test('a node that joins is listed, and one that leaves is skipped as absent', async () => {
    const { url } = await aNatsServer()
    const router = await aDiscoverer(url)
    expect(await names(router)).toEqual([])

    const node = await aNode(url, [anAgent('teller')])
    await eventually(async () => expect(await names(router)).toEqual(['Look']))
    expect((await router.call('Look')).structuredContent).toEqual({ from: 'teller' })

    await node.close()
    await eventually(async () => {
      const { _meta } = await router.call('Look')
      expect(_meta?.[route]).toMatchObject({
        tried: [],
        skipped: [{ agent: 'bank', why: 'absent' }],
      })
      expect(_meta?.[failure]).toMatchObject({ code: 'AGENT_UNAVAILABLE', retryable: true })
    })
    expect(await names(router)).toEqual(['Look'])

    await aNode(url, [anAgent('teller')])
    await eventually(async () => expect((await router.call('Look')).isError).toBeUndefined())
  })

  test('an ejection by one router is shared with the others', async () => {
    const { url } = await aNatsServer()
    let isUnhealthy = true
    const onRequest = vi.fn()
    const handle = () => {
      onRequest()
      if (isUnhealthy) throw new Error('unhealthy')
      return { well: true }
    }
    await aNode(url, [anAgent('teller', { handle })])
    const ejection = { failures: 2, seconds: 3 }
    const [first, second] = [
      await aDiscovererOf(['Look'], url, {}, { ejection }),
      await aDiscovererOf(['Look'], url, {}, { ejection }),
    ]

    for (let count = 0; count < 2; count++) await first.call('Look')
    await eventually(async () => {
      const steps = (await second.explain('Look')) ?? []
      expect(steps.at(-1)).toMatchObject({ would: 'refuse', code: 'AGENT_UNAVAILABLE' })
    })
    expect(onRequest).toHaveBeenCalledTimes(2)

    isUnhealthy = false
    await eventually(async () => expect((await first.call('Look')).isError).toBeUndefined())
    await eventually(async () => expect((await second.call('Look')).isError).toBeUndefined())
  })

  test('an announced agent cannot take a configured name', async () => {
    const { url } = await aNatsServer()
    const handle = () => ({ from: 'a stranger' })
    const stranger = await aNode(url, [anAgent('teller', { handle })])
    const router = await aDiscoverer(url, {}, { agents: [anAgent('bank')] })

    expect((await router.call('Look')).structuredContent).toEqual({ from: 'bank' })
    await eventually(() =>
      expect(router.diagnostics).toMatchObject([{ code: 'name_taken', severity: 'info' }]),
    )

    const connection = await aConnection(url)
    connection.publish('intents.health', '{"agent":"bank","turn":"ill","by":"x"}')
    await connection.flush()
    await stranger.close()
    await aWhile(50)
    expect((await router.call('Look')).structuredContent).toEqual({ from: 'bank' })
  })

  test('with a seal key, only sealed announcements are accepted', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')], { seal: k1 })
    await aNode(url, [aPayer('thief')], { node: 'thief', seal: { key: 'k2' } })
    await aNode(url, [aPayer('open')], { node: 'open' })
    const connection = await aConnection(url)
    const router = await aDiscovererOf(['Look'], url, { seal: k1 }, { keys: { k1: keys.k1 } })

    connection.publish('intents.registry', 'nonsense')
    await connection.flush()
    await aWhile(50)
    expect(await names(router)).toEqual(['Look'])
    expect((await router.call('Look')).structuredContent).toEqual({ from: 'teller' })
  })

  test('malformed announcements are ignored', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    const router = await aDiscovererOf(['Look'], url)
    const connection = await aConnection(url)
    const announcement = { node: 'x', instance: 'i', started: 0, every: 100, capabilities: [] }
    for (const candidate of [
      null,
      [],
      { ...announcement, node: '../..' },
      { ...announcement, every: 0 },
      { ...announcement, capabilities: [{ intent: 7 }] },
      { ...announcement, capabilities: [{ intent: 'Evil', inputSchema: { type: 'nonsense' } }] },
      { ...announcement, node: 'x'.repeat(1000) },
      {
        ...announcement,
        node: 'round',
        capabilities: [{ intent: 'Look', fallbackAgents: ['round'] }],
      },
      { ...announcement, node: 'all', capabilities: [{ intent: 'Look', strategy: 'broadcast' }] },
    ])
      connection.publish('intents.registry', JSON.stringify(candidate))
    connection.publish('intents.health', '{"agent":"bank","turn":"dead","by":"x"}')
    await connection.flush()
    await aWhile(50)

    expect(await names(router)).toEqual(['Look'])
    expect((await router.call('Look')).isError).toBeUndefined()
  })

  test('a node announces only its own agents, not discovered ones', async () => {
    const { url } = await aNatsServer()
    await aNode(url, [anAgent('teller')])
    await serve({
      agents: [aPayer('cashier')],
      node: 'middle',
      discover: { url },
      serve: { nats: { url } },
    })
    const router = await aDiscovererOf(['Look', 'Pay'], url)

    expect(router.diagnostics).toEqual([])
    const [step] = ((await router.explain('Look')) ?? []).slice(-1)
    expect(JSON.stringify(step)).not.toContain('middle')
  })
})

describeWithNats('drawbridge check with a NATS server', () => {
  test('reports nothing for a reachable server and a warning for an unreachable one', async () => {
    const { url, stop } = await aNatsServer('--auth', 'right')
    const folder = await aProject({
      'drawbridge.yaml': `sources: [{ intents: { node: shop,
        remote: [{ name: bank, url: "${url}", access: { token: env://NATS_TOKEN }, capabilities: [
          { intent: Look, description: Looks., effects: read_only }] }],
        discover: { url: "${url}", access: { token: env://NATS_TOKEN } } } }]`,
    })
    const check = async (token: string) => {
      const { stdout, code } = await drawbridge(['check', folder, '--json'], {
        env: { NATS_TOKEN: token },
      })
      return { code, diagnostics: JSON.parse(stdout) }
    }

    const [reachableServer, wrongToken] = [await check('right'), await check('wrong')]
    await stop()
    const unreachableServer = await check('right')

    expect(reachableServer).toEqual({ code: 0, diagnostics: [] })
    const unreachable = { code: 'nats_unreachable', severity: 'warning', pointer: '/remote/0' }
    expect(wrongToken).toMatchObject({
      code: 0,
      diagnostics: [{ ...unreachable, message: expect.stringContaining('check "access"') }],
    })
    expect(unreachableServer).toMatchObject({
      code: 0,
      diagnostics: [{ ...unreachable, message: expect.stringContaining('connection refused') }],
    })
  })
})

test('serving over NATS needs a node name, and a public server needs tokens', async () => {
  const nats = { url: 'nats://nats.example:4222' }

  expect(() => intentSource({ serve: { nats } })).toThrow(/needs a "node" name/)
  await expect(serve({ node: 'shop', serve: { nats } })).rejects.toThrow(/http.tokens/)
})

test('two sources of one server cannot use the same node name', async () => {
  const aSource = (id: string) =>
    intentSource({ id, node: 'shop', serve: { nats: { url: 'nats://127.0.0.1:4222' } } })

  await expect(serveHere({ sources: [aSource('a'), aSource('b')] })).rejects.toThrow(
    /already in use/,
  )
})

test('a password in a NATS URL is rejected, and so is "access" for an HTTP agent', async () => {
  expect(() => intentSource({ discover: { url: 'nats://ann:pw@127.0.0.1' } })).toThrow(/access/)
  const bridge = await serve({
    remote: [
      {
        name: 'bank',
        url: 'https://bank.example/intents',
        access: { user: 'ann' },
        capabilities: [look],
      },
    ],
  })
  expect(bridge.diagnostics).toMatchObject([{ code: 'agent_invalid', pointer: '/remote/0' }])
})
