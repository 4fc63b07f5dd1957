import { describe, expect, test } from 'vitest'
import { AgentError } from '../../src/sources/intents/agents/agent.ts'
import { checkFallbacks } from '../../src/sources/intents/agents/check-fallbacks.ts'
import { chooseAgents } from '../../src/sources/intents/router/choose-agents.ts'
import { readRouting, toPolicy } from '../../src/sources/intents/router/routing-options.ts'
import { anAgent, anEnvelope, aPayer, aRegistry, aRouter, later } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'

const policy = toPolicy(readRouting({}))

const orderOf = (
  agents: Parameters<typeof aRegistry>[0],
  routing: Parameters<typeof anEnvelope>[0] = {},
  health = {},
) =>
  chooseAgents({ envelope: anEnvelope(routing), registry: aRegistry(agents), health, policy })
    .decision

describe('who is asked, in which order', () => {
  test('priority first, then the name by code point', () => {
    const agents = [
      anAgent('b'),
      anAgent('a'),
      anAgent('Z'),
      anAgent('late', { priority: 200 }),
      anAgent('early', { priority: 1 }),
    ]

    expect(orderOf(agents).plan).toEqual(['early', 'Z', 'a', 'b', 'late'])
  })

  test('what the envelope says counts before what a capability says, and that before the order of all', () => {
    const agents = [
      anAgent('a', { capability: { fallbackAgents: ['d'] } }),
      anAgent('b'),
      anAgent('c'),
      anAgent('d', { capability: { fallbackAgents: ['c'] } }),
    ]

    expect(orderOf(agents, { routing: { fallbackAgents: ['c', 'b'] } })).toMatchObject({
      order: 'envelope',
      plan: ['a', 'c', 'b'],
    })
    expect(orderOf(agents)).toMatchObject({ order: 'capability', plan: ['a', 'd', 'c'] })
    expect(orderOf(agents, { routing: { targetAgent: 'b' } })).toMatchObject({
      order: 'target',
      plan: ['b', 'a', 'c', 'd'],
    })
    expect(orderOf(agents.slice(1, 3))).toMatchObject({ order: 'registry', plan: ['b', 'c'] })
  })

  test('a capability that names nobody falls back to nobody', () => {
    const agents = [anAgent('a', { capability: { fallbackAgents: [] } }), anAgent('b')]

    expect(orderOf(agents)).toMatchObject({
      plan: ['a'],
      candidates: [{ agent: 'a' }, { agent: 'b', skipped: 'not_named' }],
    })
  })

  test('health takes agents away and leaves the order of the others as it is', () => {
    const agents = ['a', 'b', 'c', 'd'].map((name) => anAgent(name))

    const decision = orderOf(agents, {}, { b: 'ejected', c: 'busy', d: 'probe' })

    expect(decision.plan).toEqual(['a', 'd'])
    expect(decision.candidates).toEqual([
      { agent: 'a' },
      { agent: 'b', skipped: 'ejected' },
      { agent: 'c', skipped: 'busy' },
      { agent: 'd' },
    ])
  })

  test('fallbacks that lead back to where they began are refused when they are loaded', () => {
    const registry = aRegistry([
      anAgent('a', { capability: { fallbackAgents: ['b'] } }),
      anAgent('b', { capability: { fallbackAgents: ['a'] } }),
      anAgent('c', { capability: { intent: 'Other', fallbackAgents: ['nobody'] } }),
    ])

    const { diagnostics, refused } = checkFallbacks(registry, 'test')

    expect(diagnostics.map(({ code }) => code)).toEqual(['fallback_unknown', 'fallback_cycle'])
    expect([...refused].map(({ name }) => name)).toEqual(['Look'])
  })

  test('a version is matched exactly, and an agent for every version serves each', () => {
    const agents = [
      anAgent('one'),
      anAgent('two', { capability: { version: '2.0' } }),
      anAgent('any', { capability: { version: '*' } }),
      anAgent('all', { capability: { intent: '*', version: '*' } }),
    ]
    const plan = (version: string) => orderOf(agents, { intent: { name: 'Look', version } }).plan

    expect(plan('1.0')).toEqual(['all', 'any', 'one'])
    expect(plan('2.0')).toEqual(['all', 'any', 'two'])
    expect(aRegistry(agents).intents.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'Look 1.0',
      'Look 2.0',
    ])
  })

  test('asking for somebody who does not serve it is a routing error', async () => {
    const { route } = aRouter({ agents: [anAgent('a')] })

    const { response } = await route(
      anEnvelope({ routing: { strategy: 'direct', targetAgent: 'b' } }),
    )

    expect(response).toMatchObject({ status: 'error', error: { code: 'ROUTING_ERROR' } })
  })
})

describe('fallback', () => {
  const fails =
    (code: ConstructorParameters<typeof AgentError>[0], retryable = false) =>
    () => {
      throw new AgentError(code, `says ${code}`, { retryable })
    }

  test.each([
    ['AGENT_UNAVAILABLE', 'goes on'],
    ['RATE_LIMIT', 'goes on'],
    ['INTERNAL_AGENT_ERROR', 'goes on'],
    ['VALIDATION_ERROR', 'stops'],
    ['UNAUTHORIZED', 'stops'],
    ['AGENT_ERROR', 'stops'],
  ] as const)('after %s of something that reads, it %s', async (code, what) => {
    const { route } = aRouter({ agents: [anAgent('a', { handle: fails(code) }), anAgent('b')] })

    const { response } = await route()

    if (what === 'goes on') expect(response.payload).toEqual({ from: 'b' })
    else expect(response.error).toMatchObject({ code, message: `says ${code}` })
  })

  test('what an agent declares retryable is tried elsewhere', async () => {
    const a = anAgent('a', { handle: fails('AGENT_ERROR', true) })
    const { route } = aRouter({ agents: [a, anAgent('b')] })

    expect((await route()).response.payload).toEqual({ from: 'b' })
  })

  test('an agent that does not take the payload is passed over: it was not asked', async () => {
    const reached: string[] = []
    const strict = anAgent('a', {
      capability: { inputSchema: { type: 'object', required: ['x'] } },
      handle: () => void reached.push('a'),
    })
    const { route } = aRouter({ agents: [strict, anAgent('b')] })

    const { response, route: how } = await route()

    expect(response.payload).toEqual({ from: 'b' })
    expect(how.tried.map(({ outcome }) => outcome)).toEqual(['VALIDATION_ERROR', 'ok'])
    expect(reached).toEqual([])
  })

  test('all of them failing is the last error, and who was asked is told', async () => {
    const agents = ['a', 'b'].map((name) => anAgent(name, { handle: fails('AGENT_UNAVAILABLE') }))
    const { route } = aRouter({ agents })

    const { response, route: how, state } = await route()

    expect(response.error).toMatchObject({ code: 'AGENT_UNAVAILABLE' })
    expect(how.tried.map(({ agent }) => agent)).toEqual(['a', 'b'])
    expect(state).toBe('failed')
  })

  test('the next agent is told who was asked before', async () => {
    const seen: unknown[] = []
    const a = anAgent('a', { handle: fails('AGENT_UNAVAILABLE') })
    const b = anAgent('b', { handle: (envelope) => void seen.push(envelope.routingMetadata) })
    const { route } = aRouter({ agents: [a, b] })

    await route()

    expect(seen).toEqual([{ decisionPath: ['a'], retries: 0 }])
  })
})

describe('effects first', () => {
  const ways = [
    ['times out', () => new Promise(() => {})],
    ['throws', () => Promise.reject(new Error('reset'))],
    ['answers what it did not promise', () => ({ toString: 'x', paid: 'not a boolean' })],
  ] as const

  test.each(ways)('a payment whose agent %s is not asked of another one', async (_, handle) => {
    const reached: string[] = []
    const outputSchema = { type: 'object', properties: { paid: { type: 'boolean' } } }
    const a = aPayer('a', { handle, capability: { outputSchema } })
    const b = aPayer('b', { handle: () => void reached.push('b') })
    const { route } = aRouter({ agents: [a, b], routing: { attemptTimeout: 30, retries: 3 } })

    const { state, route: how } = await route(
      anEnvelope({ intent: { name: 'Pay', version: '1.0' } }),
    )

    expect(state).toBe('unknown')
    expect(how.tried).toHaveLength(1)
    expect(reached).toEqual([])
  })

  test('one whose agent says that nothing happened is', async () => {
    const a = aPayer('a', { handle: () => new AgentError('AGENT_UNAVAILABLE', 'closed') })
    const { route } = aRouter({ agents: [a, aPayer('b')] })

    const { state, response } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

    expect([state, response.payload]).toEqual(['done', { from: 'b' }])
  })

  test('one that may be repeated is', async () => {
    const repeatable = { effects: { writes: true, irreversible: false, repeatable: true } }
    const a = aPayer('a', { capability: repeatable, handle: () => Promise.reject(new Error('x')) })
    const { route } = aRouter({ agents: [a, aPayer('b', { capability: repeatable })] })

    const { state } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

    expect(state).toBe('done')
  })

  test.each(['broadcast', 'parallel'] as const)(
    '%s of what must not happen twice is refused',
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

  test('what an agent does not say is taken for the worst', () => {
    const { effects, mayRepeat } = aRegistry([
      anAgent('a'),
      { ...anAgent('b'), capabilities: [{ intent: 'Look' }] },
    ]).intents[0] ?? { effects: undefined, mayRepeat: undefined }

    expect(effects).toMatchObject({ writes: true, irreversible: true, repeatable: false })
    expect(mayRepeat).toBe(false)
  })
})

describe('several at once', () => {
  test('a broadcast answers with everything, in the order of the plan, whoever was faster', async () => {
    const agents = [
      anAgent('a', { handle: () => later(30, { from: 'a' }) }),
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

  test('of parallel successes the best-ranked wins, and the others are stopped', async () => {
    const stopped: string[] = []
    const agents = [
      anAgent('a', { handle: () => later(10, new AgentError('AGENT_ERROR', 'no')) }),
      anAgent('b', { handle: () => later(40, { from: 'b' }) }),
      anAgent('c', {
        handle: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve(stopped.push('c')))
          }),
      }),
      anAgent('d'),
    ]
    const { route } = aRouter({ agents })
    const began = performance.now()

    const { response, route: how } = await route(anEnvelope({ routing: { strategy: 'parallel' } }))

    expect(response.payload).toEqual({ from: 'b' })
    expect(performance.now() - began).toBeLessThan(atMost(1000))
    expect(stopped).toEqual(['c'])
    expect(how.tried.map(({ outcome }) => outcome)).toEqual([
      'AGENT_ERROR',
      'ok',
      'not_needed',
      'not_needed',
    ])
  })

  test('the first to finish wins only where that was asked for', async () => {
    const slow = anAgent('a', { handle: () => later(200, { from: 'a' }) })
    const { route } = aRouter({ agents: [slow, anAgent('b')], routing: { strategy: 'race' } })

    const { response, route: how } = await route(anEnvelope({ routing: { strategy: 'parallel' } }))

    expect(response.payload).toEqual({ from: 'b' })
    expect(how.decision.race).toBe(true)
  })
})
