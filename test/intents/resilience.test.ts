import { expect, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { intentSource } from '../../src/index.ts'
import { AgentError } from '../../src/sources/intents/agents/agent.ts'
import { toBackoff } from '../../src/sources/intents/router/backoff.ts'
import { toOutcome } from '../../src/sources/intents/to-outcome.ts'
import { aClock } from '../support/a-clock.ts'
import { aLog, anAgent, anEnvelope, aPayer, aRouter, later, never } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aCall } from '../support/builders.ts'

test('the deadline bounds all attempts together', async () => {
  const agents = [...'abcdefgh'].map((name) => anAgent(name, { handle: never }))
  const { route } = aRouter({ agents, routing: { timeout: 120, attemptTimeout: 50 } })
  const began = performance.now()

  const { response, route: how } = await route()

  expect(performance.now() - began).toBeLessThan(atMost(400))
  expect(response.error).toMatchObject({ code: 'AGENT_TIMEOUT' })
  expect(how.tried.length).toBeLessThan(5)
})

test('an agent hears that its time is over', async () => {
  const heard: unknown[] = []
  const a = anAgent('a', {
    handle: (_, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => heard.push(signal.reason.message))),
  })
  const { route } = aRouter({ agents: [a], routing: { attemptTimeout: 20 } })

  await route()

  expect(heard).toEqual(['a did not answer within 20 ms.'])
})

test('a client that leaves stops the agent, and nobody else is asked', async () => {
  const reached: string[] = []
  const heard: string[] = []
  const a = anAgent('a', {
    handle: (_, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => heard.push('a'))),
  })
  const b = anAgent('b', { handle: () => void reached.push('b') })
  const { route } = aRouter({ agents: [a, b] })
  const cancellation = new Cancellation()
  setTimeout(() => cancellation.cancel('The client left.'), 10)

  const { response } = await route(anEnvelope(), { cancellation })

  expect(response.error).toMatchObject({ code: 'WORKFLOW_ABORTED' })
  expect([heard, reached]).toEqual([['a'], []])
})

test('retries wait as long as the trace says, the same every time', async () => {
  let asked = 0
  const a = anAgent('a', {
    handle: () => {
      if (++asked < 3) throw new AgentError('RATE_LIMIT', 'slow down')
      return { asked }
    },
  })
  const { route } = aRouter({ agents: [a], routing: { retries: 2, backoff: 10 } })

  const { response, route: how } = await route()

  expect(response.payload).toEqual({ asked: 3 })
  expect(how.tried.map(({ retry = 0 }) => retry)).toEqual([0, 1, 2])
  expect(toBackoff(10, 'trace', 'a', 1)).toBe(toBackoff(10, 'trace', 'a', 1))
  expect(toBackoff(10, 'trace', 'a', 1)).not.toBe(toBackoff(10, 'other', 'a', 1))
  expect(toBackoff(10, 'trace', 'a', 3)).toBeGreaterThanOrEqual(20)
})

test('an agent that keeps failing is left alone, probed once, and taken back', async () => {
  const clock = aClock()
  let ill = true
  let asked = 0
  const a = anAgent('a', {
    handle: async () => {
      asked++
      await later(5, 0)
      if (ill) throw new Error('down')
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
  expect(asked).toBe(3)

  clock.pass(11_000)
  expect(health.snapshot()).toEqual({ a: 'probe' })
  const plans = await Promise.all([route(), route(), route()])
  expect(asked).toBe(4)
  expect(plans.map(({ response }) => response.payload)).toEqual(Array(3).fill({ from: 'b' }))
  expect(health.snapshot()).toEqual({ a: 'ejected' })

  clock.pass(11_000)
  expect(health.snapshot()).toEqual({ a: 'ejected' })
  clock.pass(10_000)
  ill = false
  expect((await route()).response.payload).toEqual({ from: 'a' })
  expect(health.snapshot()).toEqual({})
})

test('an agent is given no more than it takes at a time', async () => {
  let most = 0
  let now = 0
  const a = anAgent('a', {
    concurrency: 2,
    handle: async () => {
      most = Math.max(most, ++now)
      await later(20, 0)
      now--
      return { from: 'a' }
    },
  })
  const { route } = aRouter({ agents: [a, anAgent('b')] })

  const all = await Promise.all(Array.from({ length: 10 }, () => route()))

  expect(most).toBe(2)
  expect(all.filter(({ response }) => response.payload?.from === 'b')).toHaveLength(8)
})

test('where everybody is busy, that is said at once and may be tried again', async () => {
  const { route } = aRouter({ agents: [anAgent('a', { concurrency: 1, handle: never })] })
  void route()

  const { response } = await route()

  expect(response.error).toMatchObject({ code: 'RATE_LIMIT', retryable: true })
})

test('without an agent there is a typed failure within 50 ms', async () => {
  const { route } = aRouter({ agents: [anAgent('a')] })
  const began = performance.now()

  const { response } = await route(anEnvelope({ intent: { name: 'Nothing', version: '1.0' } }))

  expect(performance.now() - began).toBeLessThan(atMost(50))
  expect(response.error?.code).toBe('CAPABILITY_NOT_FOUND')
})

test('no agent can change what another one sees', async () => {
  const attacks: string[] = []
  const seen: unknown[] = []
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
          attacks.push((error as Error).name)
        }
      throw new AgentError('AGENT_UNAVAILABLE', 'no')
    },
  })
  const b = anAgent('b', { handle: ({ payload }) => void seen.push(payload) })
  const { capabilities } = await intentSource([a, b]).read()

  await capabilities[0]?.invoke(aCall({ input: { list: [1] } }))

  expect(attacks).toEqual(['TypeError', 'TypeError', 'TypeError'])
  expect(seen).toEqual([{ list: [1] }])
})

test('an answer that comes too late is written down and answers nothing', async () => {
  const log = aLog()
  const a = aPayer('a', { handle: () => later(40, { paid: true }) })
  const { route } = aRouter({ agents: [a], log, routing: { attemptTimeout: 10 } })

  const { state } = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))
  await later(60, 0)

  expect(state).toBe('unknown')
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

test('hooks see everything and change nothing, even when they throw', async () => {
  const heard: string[] = []
  const troubles: unknown[] = []
  const { route } = aRouter({
    agents: [anAgent('a', { handle: () => new AgentError('AGENT_ERROR', 'no') })],
    onTrouble: (error) => troubles.push(error),
    hooks: [
      {
        beforeRoute: () => {
          throw new Error('hook')
        },
      },
      {
        beforeRoute: ({ intent }) => void heard.push(`before ${intent.name}`),
        afterRoute: (_, { status }) => void heard.push(`after ${status}`),
        onError: (_, { code }) => Promise.reject(new Error(code)),
      },
    ],
  })

  const { response } = await route()

  expect(response.error?.code).toBe('AGENT_ERROR')
  expect(heard).toEqual(['before Look', 'after error'])
  expect(troubles.map(String)).toEqual(['Error: hook', 'Error: AGENT_ERROR'])
})

test('a hook that never ends keeps nobody waiting, and cannot change the answer', async () => {
  const { route } = aRouter({
    agents: [anAgent('a')],
    hooks: [
      {
        beforeRoute: never,
        afterRoute: (_, response) => {
          Object.assign(response, { payload: { from: 'the hook' } })
        },
      },
    ],
  })

  expect((await route()).response.payload).toEqual({ from: 'a' })
})

test('what may have acted stays unknown, even when the next attempt cannot be written down', async () => {
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

  const routed = await route(anEnvelope({ intent: { name: 'Pay', version: '1.0' } }))

  expect(routed.state).toBe('unknown')
  expect(toOutcome(routed)).toMatchObject({ kind: 'failed', failure: { code: 'outcome_unknown' } })
})

test.each([{ timeout: 2 ** 31 }, { attemptTimeout: 2 ** 31 }])(
  'a time that no timer can measure is refused: %j',
  (routing) => {
    expect(() => intentSource(routing)).toThrow(/2147483647/)
  },
)

test('a key for the log that is not there is said at once, not with every call', () => {
  expect(() => intentSource({ agents: [anAgent('a')], logKey: 'k9' })).toThrow(/no key "k9"/)
})
