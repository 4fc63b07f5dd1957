import { readFileSync } from 'node:fs'
import path from 'node:path'
import { globSync } from 'tinyglobby'
import { describe, expect, test } from 'vitest'
import { type AgentDefinition, AgentError, intentSource, z } from '../../src/index.ts'
import type { IntentEnvelope } from '../../src/sources/intents/envelope/envelope.ts'
import { toEnvelope } from '../../src/sources/intents/envelope/to-envelope.ts'
import { aLog, anAgent, aPayer, aRouter, neverSettle, resolveAfter } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aCall, aCaller } from '../support/builders.ts'
import { eventually } from '../support/eventually.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'

const failure = 'dev.drawbridge/failure'
const route = 'dev.drawbridge/route'

const serve = (agents: readonly AgentDefinition[], routing = {}) =>
  serveHere({ sources: [intentSource({ agents, ...routing })] })

const clients = [
  ['2026-07-28', aModernClient],
  ['2025-11-25', aClientOf2025],
] as const

describe.each(clients)('a client of %s', (_, connect) => {
  test('lists intents as tools and calls them like any other tool [I1, I2, I3, I6, I7, I12, I47]', async () => {
    const quote = anAgent('clerk', {
      capability: {
        intent: 'Quote',
        description: 'What it costs.',
        inputSchema: z.object({ sku: z.string() }),
        outputSchema: z.object({ cents: z.number() }),
      },
      handle: () => ({ cents: 4900 }),
    })
    const { url } = await serve([quote])
    const client = await connect(url)

    const { tools } = await client.listTools()
    const result = await client.callTool({ name: 'Quote', arguments: { sku: 'lamp' } })

    expect(tools).toMatchObject([
      { name: 'Quote', description: 'What it costs.', inputSchema: { required: ['sku'] } },
    ])
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '{"cents":4900}' }],
      structuredContent: { cents: 4900 },
    })
    expect(result.isError).toBeFalsy()
  })

  test("receives an agent failure as an error result with the agent's error code [I24, I25, I30]", async () => {
    const failingAgent = anAgent('a', {
      handle: () => {
        throw new AgentError('RATE_LIMIT', 'Too many today.', { details: { left: 0 } })
      },
    })
    const { url } = await serve([failingAgent])
    const client = await connect(url)

    const result = await client.callTool({ name: 'Look', arguments: {} })

    expect(result).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Error: Too many today.' }],
      _meta: {
        [failure]: {
          code: 'RATE_LIMIT',
          message: 'Too many today.',
          details: { left: 0, agent: 'a' },
        },
      },
    })
    expect(result.structuredContent).toBeUndefined()
  })
})

describe('translating a tool call into an envelope', () => {
  /** Calls a tool and returns the envelopes its agent received. */
  async function envelopesOf(calls: readonly object[], meta = {}): Promise<IntentEnvelope[]> {
    const envelopes: IntentEnvelope[] = []
    const agent = anAgent('a', { handle: (envelope) => void envelopes.push(envelope) })
    const { bridge } = await serve([agent])
    for (const input of calls) await bridge.call('Look', input, { caller: aCaller(['x']), meta })
    return envelopes
  }

  test('maps the name to the intent and the arguments to the payload, and fills in the remaining fields [I4, I15, I16, I17, I45]', async () => {
    const [envelope] = await envelopesOf([{ sku: 'lamp', list: [1, { a: null }] }])

    expect(envelope).toEqual({
      version: '1.0',
      intent: { name: 'Look', version: '1.0' },
      payload: { sku: 'lamp', list: [1, { a: null }] },
      context: {
        sourceAgent: 'client',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        priority: 'normal',
        tags: [],
      },
      metadata: {
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        source: 'drawbridge',
        createdAt: expect.stringMatching(/^\d{4}-/),
        traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
        identityChain: ['caller:ann'],
      },
      routing: { strategy: 'fallback', targetAgent: null, fallbackAgents: [] },
      routingMetadata: { decisionPath: [], retries: 0 },
    })
  })

  test('creates a separate envelope for every request [I18]', async () => {
    const [first, second] = await envelopesOf([{ n: 1 }, { n: 1 }])

    expect(first).not.toBe(second)
    expect(first?.metadata.requestId).not.toBe(second?.metadata.requestId)
    expect(first?.metadata.traceId).not.toBe(second?.metadata.traceId)
    expect(Object.isFrozen(first?.payload)).toBe(true)
  })

  test('propagates an incoming traceparent', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const traceparents: string[] = []
    const agent = anAgent('a', {
      handle: (_, context) => void traceparents.push(context.traceparent),
    })
    const { bridge } = await serve([agent])

    const result = await bridge.call('Look', {}, { meta: { traceparent } })
    await bridge.call('Look', {}, { meta: { traceparent: 'nonsense' } })
    await bridge.call('Look', {}, { meta: { traceparent: 7 } })

    expect(traceparents[0]).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/)
    expect(traceparents[0]).not.toBe(traceparent)
    expect(traceparents).toHaveLength(3)
    expect(result._meta?.[route]).toMatchObject({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736' })
  })

  test('rejects arguments that cannot be translated and asks no agent [I27]', async () => {
    const reached: unknown[] = []
    const { bridge } = await serve([
      anAgent('a', { handle: (envelope) => void reached.push(envelope) }),
    ])

    const result = await bridge.call('Look', { big: 10n })

    expect(result).toMatchObject({
      isError: true,
      _meta: { [failure]: { code: 'VALIDATION_ERROR' } },
    })
    expect(reached).toEqual([])
  })
})

test('a call passes through the adapter, an envelope and the router, and its answer is returned [I5, I13, I14, I23]', async () => {
  const { bridge } = await serve([anAgent('a', { handle: () => ({ answer: 42 }) })])

  const result = await bridge.call('Look', { question: true })

  const id = String(result._meta?.['dev.drawbridge/call-id'])
  const execution = bridge.executions.find(id)
  expect(execution?.events).toMatchObject([
    { event: 'begun', address: 'Look', envelope: { payload: { question: true } } },
    { event: 'asked', agent: 'a' },
    { event: 'answered', payload: { answer: 42 } },
    { event: 'ended', response: { status: 'success', payload: { answer: 42 } } },
  ])
  expect(result.structuredContent).toEqual({ answer: 42 })
  expect(result._meta?.[route]).toMatchObject({
    agent: 'a',
    tried: [{ agent: 'a', outcome: 'ok' }],
  })
})

test('an envelope built from a call is routed like any other: same plan, same fallback, same answer [I19, I21, I35, I36]', async () => {
  const agents = [
    anAgent('a', { handle: () => new AgentError('AGENT_UNAVAILABLE', 'closed') }),
    anAgent('b', { priority: 50, handle: () => new AgentError('RATE_LIMIT', 'later') }),
    anAgent('c'),
  ]
  const router = aRouter({ agents })
  const call = aCall({ input: { x: 1 } })
  const envelope = toEnvelope(call, { name: 'Look', version: '1.0' }, 'fallback', 0)

  const directResult = await router.route(envelope)
  const { bridge } = await serve(agents)
  const result = await bridge.call('Look', { x: 1 })

  const { decision } = directResult.route
  const begunEvent = bridge.executions
    .find(String(result._meta?.['dev.drawbridge/call-id']))
    ?.events.find((event) => event.event === 'begun')
  expect(begunEvent?.decision).toEqual(decision)
  expect(result._meta?.[route]).toMatchObject({ tried: directResult.route.tried, agent: 'c' })
  expect(result.structuredContent).toEqual(directResult.response.payload)
})

describe('the intents folder', () => {
  const folder = path.resolve('src/sources/intents')
  const files = globSync('**/*.ts', { cwd: folder, absolute: true })
  /** Without the imports of examples in comments, which name this package. */
  const code = files
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
    .replaceAll(/^ \* import .* from 'drawbridge-mcp'$/gm, '')
  /** Paths under src that the folder imports from. */
  const importedPaths = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g)].map(([, to = '']) =>
      path.relative(path.resolve('src'), path.resolve(path.dirname(file), to)),
    ),
  )

  test('contains no MCP server, authorisation or extension code [I8, I9, I10, I11, I22, I41, I44, I48]', () => {
    expect(code).not.toMatch(/mcp|jsonrpc|tools\/call|modelcontextprotocol/i)
    expect(code).not.toMatch(/createServer|\.listen\(|www-authenticate/i)
    expect(importedPaths.length).toBeGreaterThan(100)
    const allowed =
      /^(sources\/(intents\/|loaded-module)|capability\/|contracts\/|json\/|upstream\/(loopback|egress\/))/
    expect(importedPaths.filter((to) => !allowed.test(to))).toEqual([])
  })

  test('a routing log does not mention the calling protocol [I22]', async () => {
    const log = aLog()
    const { route } = aRouter({ agents: [anAgent('a')], log })

    await route()

    expect(JSON.stringify(log.events)).not.toMatch(/mcp/i)
  })
})

describe('exactly one answer per request', () => {
  const fail = (thrown: unknown): never => {
    throw thrown
  }
  const trap = () => fail(new Error('no'))
  const aCircle = () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    return circle
  }
  const aResponse = (code: string) => ({
    version: '1.0',
    status: 'error',
    payload: null,
    metadata: {},
    error: { code, message: 'no' },
  })
  const hostileHandlers = [
    ['throws', () => fail(new Error('/etc/secret')), 'INTERNAL_AGENT_ERROR'],
    ['throws nothing', () => fail(undefined), 'INTERNAL_AGENT_ERROR'],
    [
      'throws an object without a prototype',
      () => fail(Object.create(null)),
      'INTERNAL_AGENT_ERROR',
    ],
    [
      'rejects later',
      () => resolveAfter(5, 0).then(() => fail(new Error('x'))),
      'INTERNAL_AGENT_ERROR',
    ],
    ['never answers', neverSettle, 'AGENT_TIMEOUT'],
    ['answers with a circular object', aCircle, 'PROTOCOL_ERROR'],
    ['answers with a bigint', () => ({ n: 1n }), 'PROTOCOL_ERROR'],
    ['answers with a map', () => new Map(), 'PROTOCOL_ERROR'],
    [
      'answers with a throwing getter',
      () => Object.defineProperty({}, 'x', { get: trap, enumerable: true }),
      'INTERNAL_AGENT_ERROR',
    ],
    ['fails with an unknown code', () => aResponse('NEW_CODE'), 'INTERNAL_AGENT_ERROR'],
    ['answers with a complete response', () => aResponse('AGENT_ERROR'), 'AGENT_ERROR'],
  ] as const

  test.each(hostileHandlers)(
    'an agent that %s yields one typed error [I26, I29, I31, I32]',
    async (_, handle, code) => {
      // A short time-out only where it is expected: a busy machine can be slower than any other agent.
      const attemptTimeout = code === 'AGENT_TIMEOUT' ? 50 : 30_000
      const { url, bridge } = await serve([anAgent('a', { handle })], { attemptTimeout })
      const client = await aModernClient(url)

      const result = await client.callTool({ name: 'Look', arguments: {} })

      expect(result).toMatchObject({ isError: true, _meta: { [failure]: { code } } })
      expect(JSON.stringify(result)).not.toContain('/etc/secret')
      const id = String(result._meta?.['dev.drawbridge/call-id'])
      expect(
        bridge.executions.find(id)?.events.filter(({ event }) => event === 'ended'),
      ).toHaveLength(1)
    },
  )

  test('a declared intent without an agent is listed and fails with CAPABILITY_NOT_FOUND when called [I28]', async () => {
    const declared = [{ intent: 'Ship', description: 'Ships it.', effects: 'read_only' as const }]
    const { url } = await serve([anAgent('a')], { declared })
    const client = await aModernClient(url)

    const { tools } = await client.listTools()
    const startedAt = performance.now()
    const result = await client.callTool({ name: 'Ship', arguments: {} })

    expect(tools.map(({ name }) => name)).toEqual(['Look', 'Ship'])
    expect(performance.now() - startedAt).toBeLessThan(atMost(1000))
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'Error: No agent serves Ship 1.0 now.' }],
      _meta: { [failure]: { code: 'CAPABILITY_NOT_FOUND' } },
    })
  })

  test('an unknown tool name is rejected by the protocol, not by the router', async () => {
    const { url } = await serve([anAgent('a')])
    const client = await aModernClient(url)

    await expect(client.callTool({ name: 'Nothing', arguments: {} })).rejects.toThrow(/Nothing/)
  })
})

describe('governance around the router', () => {
  const pay = (handle: AgentDefinition['handle']) => [
    aPayer('first', { handle }),
    aPayer('second', { handle: () => ({ paid: 'by the second' }) }),
  ]

  test('an unknown outcome is stored in the ledger and replayed for the same key', async () => {
    const { bridge } = await serve(pay(() => Promise.reject(new Error('reset'))))
    const meta = { 'dev.drawbridge/idempotency-key': 'order 1' }

    const first = await bridge.call('Pay', { order: 1 }, { meta })
    const repeat = await bridge.call('Pay', { order: 1 }, { meta })

    expect(first._meta?.[failure]).toMatchObject({
      code: 'outcome_unknown',
      details: { code: 'INTERNAL_AGENT_ERROR', agent: 'first' },
    })
    expect(repeat._meta?.[failure]).toMatchObject({ code: 'outcome_unknown' })
    expect(bridge.executions.list({ limit: 10 })).toHaveLength(1)
  })

  test('a repeated call is replayed from the ledger and routed once', async () => {
    let paid = 0
    const { bridge } = await serve(pay(() => ({ paid: ++paid })))
    const meta = { 'dev.drawbridge/idempotency-key': 'order 2' }

    const first = await bridge.call('Pay', { order: 2 }, { meta })
    const repeat = await bridge.call('Pay', { order: 2 }, { meta })

    expect([first, repeat].map(({ structuredContent }) => structuredContent)).toEqual([
      { paid: 1 },
      { paid: 1 },
    ])
    expect(paid).toBe(1)
    expect(bridge.executions.list({ limit: 10 })).toHaveLength(1)
  })

  test('a policy refusal happens before the router, so no execution is logged', async () => {
    const { bridge } = await serveHere({
      sources: [intentSource([anAgent('a')])],
      policy: { rules: [{ match: 'Look', permissions: ['look'] }] },
    })

    await expect(bridge.call('Look', {}, { caller: aCaller([]) })).rejects.toThrow(/look/)
    await bridge.call('Look', {}, { caller: aCaller(['look']) })

    expect(bridge.executions.list({ limit: 10 })).toMatchObject([{ caller: 'ann', state: 'done' }])
  })

  test('a rule with a timeout as short as the grace period leaves the agent some time', async () => {
    const { bridge } = await serveHere({
      sources: [intentSource([anAgent('a')])],
      policy: { rules: [{ match: 'Look', timeout: 250 }] },
    })

    // A busy machine may delay one call beyond its timeout, but not every call.
    await eventually(async () => expect((await bridge.call('Look')).isError).not.toBe(true))
  })

  test('each version of an intent is a separate tool with a stable name', async () => {
    const { bridge } = await serve([
      anAgent('one'),
      anAgent('two', { capability: { version: '2.0' } }),
      anAgent('any', { capability: { version: '*' }, priority: 500 }),
    ])

    const { tools } = await bridge.list()
    const results = await Promise.all(['Look', 'Look_v2_0'].map((name) => bridge.call(name)))

    expect(tools.map(({ name }) => name)).toEqual(['Look', 'Look_v2_0'])
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual([
      { from: 'one' },
      { from: 'two' },
    ])
  })

  test('explain names the agents that would be asked without asking them', async () => {
    const reached: unknown[] = []
    const { bridge } = await serve(pay((envelope) => void reached.push(envelope)))

    const explanation = await bridge.explain('Pay', {})

    expect(explanation?.at(-1)).toEqual({
      step: 'route',
      would: 'pass',
      why: 'fallback, order of the registry: first, then second',
    })
    expect(reached).toEqual([])
  })
})

describe('invalid agent definitions', () => {
  test('are reported with their pointers while valid agents are served', async () => {
    const { bridge } = await serve([
      anAgent('good'),
      { ...anAgent('empty'), capabilities: [] },
      anAgent('with space '),
      anAgent('twin'),
      anAgent('twin'),
      anAgent('bad', { capability: { intent: 'Bad', inputSchema: { type: 'array' } } }),
    ])

    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['Look'])
    expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
      'agent_invalid /default/1/capabilities',
      'agent_invalid /default/2/name',
      'schema_unusable /default/5/capabilities/0/inputSchema',
      'name_collision /default/3',
      'name_collision /default/4',
    ])
  })
})
