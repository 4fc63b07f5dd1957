import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { intentSource } from '../../src/index.ts'
import { AgentError } from '../../src/sources/intents/agents/agent.ts'
import { toBackoff } from '../../src/sources/intents/router/backoff.ts'
import { toOutcome } from '../../src/sources/intents/to-outcome.ts'
import { aClock } from '../support/a-clock.ts'
import {
  aLog,
  anAgent,
  anEnvelope,
  aPayer,
  aRouter,
  neverSettle,
  resolveAfter,
} from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aCall } from '../support/builders.ts'
import { eventually } from '../support/eventually.ts'

test('the deadline bounds all attempts together', async () => {
  const agents = [...'abcdefgh'].map((name) => anAgent(name, { handle: neverSettle }))
  const { route } = aRouter({ agents, routing: { timeout: 120, attemptTimeout: 50 } })
  const startedAt = performance.now()

  const { response, route: routeTrace } = await route()

  expect(performance.now() - startedAt).toBeLessThan(atMost(400))
  expect(response.error).toMatchObject({ code: 'AGENT_TIMEOUT' })
  expect(routeTrace.tried.length).toBeLessThan(5)
})

test("an agent's signal aborts when its attempt times out", async () => {
  const abortReasons: unknown[] = []
  const a = anAgent('a', {
    handle: (_, { signal }) =>
      new Promise(() =>
        signal.addEventListener('abort', () => abortReasons.push(signal.reason.message)),
      ),
  })
  const { route } = aRouter({ agents: [a], routing: { attemptTimeout: 20 } })

  await route()

  expect(abortReasons).toEqual(['a did not answer within 20 ms.'])
})

test('a cancelled call aborts the agent and asks no other one', async () => {
  const reached: string[] = []
  const abortedAgents: string[] = []
  const a = anAgent('a', {
    handle: (_, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => abortedAgents.push('a'))),
  })
  const b = anAgent('b', { handle: () => void reached.push('b') })
  const { route } = aRouter({ agents: [a, b] })
  const cancellation = new Cancellation()
  setTimeout(() => cancellation.cancel('The client left.'), 10)

  const { response } = await route(anEnvelope(), { cancellation })

  expect(response.error).toMatchObject({ code: 'WORKFLOW_ABORTED' })
  expect([abortedAgents, reached]).toEqual([['a'], []])
})

test('the retry backoff is derived from the trace id and is deterministic', async () => {
  let attempts = 0
  const a = anAgent('a', {
    handle: () => {
      if (++attempts < 3) throw new AgentError('RATE_LIMIT', 'slow down')
      return { asked: attempts }
    },
  })
  const { route } = aRouter({ agents: [a], routing: { retries: 2, backoff: 10 } })

  const { response, route: routeTrace } = await route()

  expect(response.payload).toEqual({ asked: 3 })
  expect(routeTrace.tried.map(({ retry = 0 }) => retry)).toEqual([0, 1, 2])
  expect(toBackoff(10, 'trace', 'a', 1)).toBe(toBackoff(10, 'trace', 'a', 1))
  expect(toBackoff(10, 'trace', 'a', 1)).not.toBe(toBackoff(10, 'other', 'a', 1))
  expect(toBackoff(10, 'trace', 'a', 3)).toBeGreaterThanOrEqual(20)
})

test('a failing agent is ejected, probed once and readmitted', async () => {
  const clock = aClock()
  let isFailing = true
  let attempts = 0
  const a = anAgent('a', {
    handle: async () => {
      attempts++
      await resolveAfter(5, 0)
      if (isFailing) throw new Error('down')
      return { from: 'a' }
    },
  })
  const { route, health } = aRouter({
    agents: [a, anAgent('b')],
    steadyNow: clock.now,
    routing: { ejection: { failures: 3, seconds: 10 } },
  })
  for (let i = 0; i < 3; i++) expect((await route()).response.payload).toEqual({ from: 'b' })
  expect(health.snapshot()).toEqual({ a: 'ejected' })

  expect((await route()).route.decision).toMatchObject({
    plan: ['b'],
    candidates: [{ agent: 'a', skipped: 'ejected' }, { agent: 'b' }],
  })
  expect(attempts).toBe(3)

  clock.pass(11_000)
  expect(health.snapshot()).toEqual({ a: 'probe' })
  const results = await Promise.all([route(), route(), route()])
  expect(attempts).toBe(4)
  expect(results.map(({ response }) => response.payload)).toEqual(Array(3).fill({ from: 'b' }))
  expect(health.snapshot()).toEqual({ a: 'ejected' })

  clock.pass(11_000)
  expect(health.snapshot()).toEqual({ a: 'ejected' })
  clock.pass(10_000)
  isFailing = false
  expect((await route()).response.payload).toEqual({ from: 'a' })
  expect(health.snapshot()).toEqual({})
})

test('an agent never exceeds its concurrency limit', async () => {
  let maxActive = 0
  let active = 0
  const a = anAgent('a', {
    concurrency: 2,
    handle: async () => {
      maxActive = Math.max(maxActive, ++active)
      await resolveAfter(20, 0)
      active--
      return { from: 'a' }
    },
  })
  const { route } = aRouter({ agents: [a, anAgent('b')] })

  const results = await Promise.all(Array.from({ length: 10 }, () => route()))

  expect(maxActive).toBe(2)
  expect(results.filter(({ response }) => response.payload?.from === 'b')).toHaveLength(8)
})

test('a call is rejected at once as retryable when all agents are busy', async () => {
  const { route } = aRouter({ agents: [anAgent('a', { concurrency: 1, handle: neverSettle })] })
  void route()

  const { response } = await route()

  expect(response.error).toMatchObject({ code: 'RATE_LIMIT', retryable: true })
})

test('an intent without an agent fails with a typed error within 50 ms', async () => {
  const { route } = aRouter({ agents: [anAgent('a')] })
  const startedAt = performance.now()

  const { response } = await route(anEnvelope({ intent: { name: 'Nothing', version: '1.0' } }))

  expect(performance.now() - startedAt).toBeLessThan(atMost(50))
  expect(response.error?.code).toBe('CAPABILITY_NOT_FOUND')
})

test('an agent cannot modify the envelope that another agent receives', async () => {
  const attackErrors: string[] = []
  const receivedPayloads: unknown[] = []
  const a = anAgent('a', {
    handle: (envelope) => {
      const payload = envelope.payload as { list: number[] }
      for (const attack of [
        () => payload.list.push(9),
        () => Object.assign(payload, { x: 1 }),
        () => Object.assign(envelope.routing, { targetAgent: 'a' }),
      ])
        try {
          attack()
        } catch (error) {
          attackErrors.push((error as Error).name)
        }
      throw new AgentError('AGENT_UNAVAILABLE', 'no')
    },
  })
  const b = anAgent('b', { handle: ({ payload }) => void receivedPayloads.push(payload) })
  const { capabilities } = await intentSource([a, b]).read()

  await capabilities[0]?.invoke(aCall({ input: { list: [1] } }))

  expect(attackErrors).toEqual(['TypeError', 'TypeError', 'TypeError'])
  expect(receivedPayloads).toEqual([{ list: [1] }])
})

test('an answer after the timeout is logged as late and discarded', async () => {
  const log = aLog()
  const a = aPayer('a', { handle: () => resolveAfter(40, { paid: true }) })
  const { route } = aRouter({ agents: [a], log, routing: { attemptTimeout: 10 } })

  const { state } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

  expect(state).toBe('unknown')
  await eventually(() => expect(log.events.at(-1)).toMatchObject({ event: 'late' }))
  expect(log.events.map(({ event }) => event)).toEqual([
    'setup',
    'begun',
    'asked',
    'answered',
    'ended',
    'late',
  ])
  expect(log.events.at(-1)).toMatchObject({ outcome: 'ok', agent: 'a' })
})

test('hooks observe every route, and errors they throw are isolated', async () => {
  const hookCalls: string[] = []
  const errors: unknown[] = []
  const { route } = aRouter({
    agents: [anAgent('a', { handle: () => new AgentError('AGENT_ERROR', 'no') })],
    onOperationalError: (error) => errors.push(error),
    hooks: [
      {
        beforeRoute: () => {
          throw new Error('hook')
        },
      },
      {
        beforeRoute: ({ intent }) => void hookCalls.push(`before ${intent.name}`),
        afterRoute: (_, { status }) => void hookCalls.push(`after ${status}`),
        onError: (_, { code }) => Promise.reject(new Error(code)),
      },
    ],
  })

  const { response } = await route()

  expect(response.error?.code).toBe('AGENT_ERROR')
  expect(hookCalls).toEqual(['before Look', 'after error'])
  expect(errors.map(String)).toEqual(['Error: hook', 'Error: AGENT_ERROR'])
})

test('a hook that never settles does not delay the response, and hooks cannot modify it', async () => {
  const { route } = aRouter({
    agents: [anAgent('a')],
    hooks: [
      {
        beforeRoute: neverSettle,
        afterRoute: (_, response) => {
          Object.assign(response, { payload: { from: 'the hook' } })
        },
      },
    ],
  })

  expect((await route()).response.payload).toEqual({ from: 'a' })
})

test('an unknown outcome stays unknown when the next attempt cannot be logged', async () => {
  let writable = true
  const log = {
    ...aLog(),
    append: async () => {
      if (!writable) throw new Error('full')
    },
  }
  const handle = () => {
    writable = false
    throw new Error('broke')
  }
  const effects = { repeatable: true }
  const { route } = aRouter({
    agents: [
      aPayer('a', { handle, capability: { effects } }),
      aPayer('b', { capability: { effects } }),
    ],
    log,
  })

  const result = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

  expect(result.state).toBe('unknown')
  expect(toOutcome(result)).toMatchObject({ kind: 'failed', failure: { code: 'outcome_unknown' } })
})

test.each([{ timeout: 2 ** 31 }, { attemptTimeout: 2 ** 31 }])(
  'a timeout above the timer maximum is rejected: %j',
  (routing) => {
    expect(() => intentSource(routing)).toThrow(/2147483647/)
  },
)

test('an unknown log key is rejected at construction', () => {
  expect(() => intentSource({ agents: [anAgent('a')], logKey: 'k9' })).toThrow(/no key "k9"/)
})
