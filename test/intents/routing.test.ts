import { describe, expect, test } from 'vitest'
import { AgentError } from '../../src/sources/intents/agents/agent.ts'
import { checkFallbacks } from '../../src/sources/intents/agents/check-fallbacks.ts'
import { chooseAgents } from '../../src/sources/intents/router/choose-agents.ts'
import { readRouting, toPolicy } from '../../src/sources/intents/router/routing-options.ts'
import { anAgent, anEnvelope, aPayer, aRegistry, aRouter, resolveAfter } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'

const policy = toPolicy(readRouting({}))

const decide = (
  agents: Parameters<typeof aRegistry>[0],
  routing: Parameters<typeof anEnvelope>[0] = {},
  health = {},
) =>
  chooseAgents({ envelope: anEnvelope(routing), registry: aRegistry(agents), health, policy })
    .decision

describe('agent order', () => {
  test('sorts by priority, then by name in code point order', () => {
    const agents = [
      anAgent('b'),
      anAgent('a'),
      anAgent('Z'),
      anAgent('late', { priority: 200 }),
      anAgent('early', { priority: 1 }),
    ]

    expect(decide(agents).plan).toEqual(['early', 'Z', 'a', 'b', 'late'])
  })

  test("the envelope's fallbacks take precedence over the capability's, and those over the registry order", () => {
    const agents = [
      anAgent('a', { capability: { fallbackAgents: ['d'] } }),
      anAgent('b'),
      anAgent('c'),
      anAgent('d', { capability: { fallbackAgents: ['c'] } }),
    ]

    expect(decide(agents, { routing: { fallbackAgents: ['c', 'b'] } })).toMatchObject({
      order: 'envelope',
      plan: ['a', 'c', 'b'],
    })
    expect(decide(agents)).toMatchObject({ order: 'capability', plan: ['a', 'd', 'c'] })
    expect(decide(agents, { routing: { targetAgent: 'b' } })).toMatchObject({
      order: 'target',
      plan: ['b', 'a', 'c', 'd'],
    })
    expect(decide(agents.slice(1, 3))).toMatchObject({ order: 'registry', plan: ['b', 'c'] })
  })

  test('a capability with an empty fallback list has no fallbacks', () => {
    const agents = [anAgent('a', { capability: { fallbackAgents: [] } }), anAgent('b')]

    expect(decide(agents)).toMatchObject({
      plan: ['a'],
      candidates: [{ agent: 'a' }, { agent: 'b', skipped: 'not_named' }],
    })
  })

  test('unhealthy agents are skipped without changing the order of the others', () => {
    const agents = ['a', 'b', 'c', 'd'].map((name) => anAgent(name))

    const decision = decide(agents, {}, { b: 'ejected', c: 'busy', d: 'probe' })

    expect(decision.plan).toEqual(['a', 'd'])
    expect(decision.candidates).toEqual([
      { agent: 'a' },
      { agent: 'b', skipped: 'ejected' },
      { agent: 'c', skipped: 'busy' },
      { agent: 'd' },
    ])
  })

  test('fallback cycles and unknown fallbacks are rejected on load', () => {
    const registry = aRegistry([
      anAgent('a', { capability: { fallbackAgents: ['b'] } }),
      anAgent('b', { capability: { fallbackAgents: ['a'] } }),
      anAgent('c', { capability: { intent: 'Other', fallbackAgents: ['nobody'] } }),
    ])

    const { diagnostics, cyclicIntents } = checkFallbacks(registry, 'test')

    expect(diagnostics.map(({ code }) => code)).toEqual(['fallback_unknown', 'fallback_cycle'])
    expect([...cyclicIntents].map(({ name }) => name)).toEqual(['Look'])
  })

  test('a version matches exactly, and a wildcard agent serves every version', () => {
    const agents = [
      anAgent('one'),
      anAgent('two', { capability: { version: '2.0' } }),
      anAgent('any', { capability: { version: '*' } }),
      anAgent('all', { capability: { intent: '*', version: '*' } }),
    ]
    const plan = (version: string) => decide(agents, { intent: { name: 'Look', version } }).plan

    expect(plan('1.0')).toEqual(['all', 'any', 'one'])
    expect(plan('2.0')).toEqual(['all', 'any', 'two'])
    expect(aRegistry(agents).intents.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'Look 1.0',
      'Look 2.0',
    ])
  })

  test('targeting an agent that does not serve the intent is a routing error', async () => {
    const { route } = aRouter({ agents: [anAgent('a')] })

    const { response } = await route(
      anEnvelope({ routing: { strategy: 'direct', targetAgent: 'b' } }),
    )

    expect(response).toMatchObject({ status: 'error', error: { code: 'ROUTING_ERROR' } })
  })
})

describe('fallback', () => {
  const failWith =
    (code: ConstructorParameters<typeof AgentError>[0], retryable = false) =>
    () => {
      throw new AgentError(code, `says ${code}`, { retryable })
    }

  test.each([
    ['AGENT_UNAVAILABLE', 'continues'],
    ['RATE_LIMIT', 'continues'],
    ['INTERNAL_AGENT_ERROR', 'continues'],
    ['VALIDATION_ERROR', 'stops'],
    ['UNAUTHORIZED', 'stops'],
    ['AGENT_ERROR', 'stops'],
  ] as const)('after %s from a read-only agent, routing %s', async (code, expected) => {
    const { route } = aRouter({ agents: [anAgent('a', { handle: failWith(code) }), anAgent('b')] })

    const { response } = await route()

    if (expected === 'continues') expect(response.payload).toEqual({ from: 'b' })
    else expect(response.error).toMatchObject({ code, message: `says ${code}` })
  })

  test('continues after an error the agent declares retryable', async () => {
    const a = anAgent('a', { handle: failWith('AGENT_ERROR', true) })
    const { route } = aRouter({ agents: [a, anAgent('b')] })

    expect((await route()).response.payload).toEqual({ from: 'b' })
  })

  test('an agent whose input schema rejects the payload is skipped without being asked', async () => {
    const reached: string[] = []
    const strictAgent = anAgent('a', {
      capability: { inputSchema: { type: 'object', required: ['x'] } },
      handle: () => void reached.push('a'),
    })
    const { route } = aRouter({ agents: [strictAgent, anAgent('b')] })

    const { response, route: routeTrace } = await route()

    expect(response.payload).toEqual({ from: 'b' })
    expect(routeTrace.tried.map(({ outcome }) => outcome)).toEqual(['VALIDATION_ERROR', 'ok'])
    expect(reached).toEqual([])
  })

  test('returns the last error and the tried agents when all agents fail', async () => {
    const agents = ['a', 'b'].map((name) =>
      anAgent(name, { handle: failWith('AGENT_UNAVAILABLE') }),
    )
    const { route } = aRouter({ agents })

    const { response, route: routeTrace, state } = await route()

    expect(response.error).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect(routeTrace.tried.map(({ agent }) => agent)).toEqual(['a', 'b'])
    expect(state).toBe('failed')
  })

  test('the next agent receives the decision path', async () => {
    const routingMetadata: unknown[] = []
    const a = anAgent('a', { handle: failWith('AGENT_UNAVAILABLE') })
    const b = anAgent('b', {
      handle: (envelope) => void routingMetadata.push(envelope.routingMetadata),
    })
    const { route } = aRouter({ agents: [a, b] })

    await route()

    expect(routingMetadata).toEqual([{ decisionPath: ['a'], retries: 0 }])
  })
})

describe('fallback of intents with side effects', () => {
  const failingHandlers = [
    ['times out', () => new Promise(() => {})],
    ['throws', () => Promise.reject(new Error('reset'))],
    ['breaks its output schema', () => ({ toString: 'x', paid: 'not a boolean' })],
  ] as const

  test.each(failingHandlers)(
    'does not continue when the agent of a payment %s',
    async (_, handle) => {
      const reached: string[] = []
      const outputSchema = { type: 'object', properties: { paid: { type: 'boolean' } } }
      const a = aPayer('a', { handle, capability: { outputSchema } })
      const b = aPayer('b', { handle: () => void reached.push('b') })
      const { route } = aRouter({ agents: [a, b], routing: { attemptTimeout: 30, retries: 3 } })

      const { state, route: routeTrace } = await route(
        anEnvelope({ intent: { name: 'Pay', version: '1.0' } }),
      )

      expect(state).toBe('unknown')
      expect(routeTrace.tried).toHaveLength(1)
      expect(reached).toEqual([])
    },
  )

  test('continues when the agent says that nothing happened', async () => {
    const a = aPayer('a', { handle: () => new AgentError('AGENT_UNAVAILABLE', 'closed') })
    const { route } = aRouter({ agents: [a, aPayer('b')] })

    const { state, response } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

    expect([state, response.payload]).toEqual(['done', { from: 'b' }])
  })

  test('continues when the effect is repeatable', async () => {
    const repeatable = { effects: { writes: true, irreversible: false, repeatable: true } }
    const a = aPayer('a', { capability: repeatable, handle: () => Promise.reject(new Error('x')) })
    const { route } = aRouter({ agents: [a, aPayer('b', { capability: repeatable })] })

    const { state } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

    expect(state).toBe('done')
  })

  test.each(['broadcast', 'parallel'] as const)(
    '%s of an irreversible intent is rejected',
    async (strategy) => {
      const reached: string[] = []
      const handle = () => void reached.push('x')
      const { route } = aRouter({ agents: [aPayer('a', { handle }), aPayer('b', { handle })] })
      const envelope = anEnvelope({
        intent: { name: 'Pay', version: '1.0' },
        routing: { strategy },
      })

      const { response } = await route(envelope)

      expect(response.error).toMatchObject({ code: 'VALIDATION_ERROR' })
      expect(reached).toEqual([])
    },
  )

  test('missing effect declarations default to irreversible and not repeatable', () => {
    const { effects, mayRepeat } = aRegistry([
      anAgent('a'),
      { ...anAgent('b'), capabilities: [{ intent: 'Look' }] },
    ]).intents[0] ?? { effects: undefined, mayRepeat: undefined }

    expect(effects).toMatchObject({ writes: true, irreversible: true, repeatable: false })
    expect(mayRepeat).toBe(false)
  })
})

describe('concurrent strategies', () => {
  test('a broadcast returns all outcomes in plan order, whatever the completion order', async () => {
    const agents = [
      anAgent('a', { handle: () => resolveAfter(30, { from: 'a' }) }),
      anAgent('b', { handle: () => new AgentError('AGENT_ERROR', 'no') }),
      anAgent('c'),
    ]
    const { route } = aRouter({ agents })

    const { response } = await route(anEnvelope({ routing: { strategy: 'broadcast' } }))

    expect(response.payload).toEqual({
      outcomes: [
        { agent: 'a', status: 'success', payload: { from: 'a' } },
        { agent: 'b', status: 'error', error: expect.objectContaining({ code: 'AGENT_ERROR' }) },
        { agent: 'c', status: 'success', payload: { from: 'c' } },
      ],
    })
  })

  test('parallel returns the best-ranked success and aborts the rest', async () => {
    const abortedAgents: string[] = []
    const agents = [
      anAgent('a', { handle: () => resolveAfter(10, new AgentError('AGENT_ERROR', 'no')) }),
      anAgent('b', { handle: () => resolveAfter(40, { from: 'b' }) }),
      anAgent('c', {
        handle: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve(abortedAgents.push('c')))
          }),
      }),
      anAgent('d'),
    ]
    const { route } = aRouter({ agents })
    const startedAt = performance.now()

    const { response, route: routeTrace } = await route(
      anEnvelope({ routing: { strategy: 'parallel' } }),
    )

    expect(response.payload).toEqual({ from: 'b' })
    expect(performance.now() - startedAt).toBeLessThan(atMost(1000))
    expect(abortedAgents).toEqual(['c'])
    expect(routeTrace.tried.map(({ outcome }) => outcome)).toEqual([
      'AGENT_ERROR',
      'ok',
      'not_needed',
      'not_needed',
    ])
  })

  test('race returns the first success', async () => {
    const slowAgent = anAgent('a', { handle: () => resolveAfter(200, { from: 'a' }) })
    const { route } = aRouter({ agents: [slowAgent, anAgent('b')], routing: { strategy: 'race' } })

    const { response, route: routeTrace } = await route(
      anEnvelope({ routing: { strategy: 'parallel' } }),
    )

    expect(response.payload).toEqual({ from: 'b' })
    expect(routeTrace.decision.race).toBe(true)
  })
})
