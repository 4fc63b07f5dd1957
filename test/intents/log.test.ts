import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFault } from '../../src/capability/fault.ts'
import { intentSource } from '../../src/index.ts'
import { Drawbridge } from '../../src/runtime/drawbridge.ts'
import { AgentError } from '../../src/sources/intents/agents/agent.ts'
import type {
  ExecutionEvent,
  LoggedExecution,
} from '../../src/sources/intents/log/execution-log.ts'
import { toResumption } from '../../src/sources/intents/log/resumption.ts'
import { SqliteExecutionLog } from '../../src/storage/ledger/sqlite-execution-log.ts'
import { SqliteLedger } from '../../src/storage/ledger/sqlite-ledger.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { aClock, day, hour } from '../support/a-clock.ts'
import { aProject } from '../support/a-project.ts'
import {
  anAgent,
  anEnvelope,
  aPayer,
  aRouter,
  neverSettle,
  resolveAfter,
} from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aLedger, aServerProcess, clocksAt } from '../support/builders.ts'
import { startScript } from '../support/child-script.ts'
import { eventually } from '../support/eventually.ts'

const failure = 'dev.drawbridge/failure'
const pay = { name: 'Pay', version: '1.0' }

const aStore = async () => path.join(await aProject({}), 'store.db')

/** Routes the given number of payments and returns the log. */
async function aWrittenLog(file: string, payments = 5) {
  const ledger = aLedger(file)
  const log = new SqliteExecutionLog(ledger)
  const { route } = aRouter({ agents: [aPayer('a')], log })
  for (let number = 0; number < payments; number++)
    await route(anEnvelope({ intent: pay, payload: { number } }))
  return { ledger, log }
}

describe('the execution log', () => {
  test('stores each execution with its payload, decision, attempts and answer', async () => {
    const { log, ledger } = await aWrittenLog(':memory:', 2)

    const [latest, first] = log.read.list({ limit: 10 })
    const execution = log.read.find(first?.id ?? '')

    expect([latest?.state, first?.state]).toEqual(['done', 'done'])
    expect(execution?.events).toMatchObject([
      {
        event: 'begun',
        envelope: { payload: { number: 0 } },
        decision: { plan: ['a'] },
        caller: 'ann',
      },
      { event: 'asked', number: 1, agent: 'a' },
      { event: 'answered', number: 1, payload: { from: 'a' } },
      { event: 'ended', state: 'done', response: { payload: { from: 'a' } } },
    ])
    await ledger.close()
  })

  test('reads the same executions after a restart', async () => {
    const file = await aStore()
    const { log, ledger } = await aWrittenLog(file)
    const loggedExecutions = log.read.list({ limit: 10 }).map(({ id }) => log.read.find(id))
    await ledger.close()

    const reopenedLedger = aLedger(file)
    const { executions } = reopenedLedger

    expect(executions.list({ limit: 10 }).map(({ id }) => executions.find(id))).toEqual(
      loggedExecutions,
    )
    await reopenedLedger.close()
  })

  test('verification reports a changed event', async () => {
    const file = await aStore()
    const { ledger } = await aWrittenLog(file)
    expect(ledger.executions.verify()).toEqual({ count: 21 })
    await ledger.close()

    const database = openSqlite(file)
    database.exec(
      `update execution_events set lines = replace(lines, '"number":3}', '"number":4}')`,
    )
    database.close()

    const reopenedLedger = aLedger(file)
    expect(reopenedLedger.executions.verify()).toMatchObject({
      broken: { reason: 'this record was changed' },
    })
    await reopenedLedger.close()
  })

  test('purges executions past the retention time and still verifies', async () => {
    const clock = aClock()
    const file = await aStore()
    const ledger = new SqliteLedger({
      file,
      process: aServerProcess(() => true),
      keepRunsMs: day,
      keepExecutionsMs: 3 * day,
      clocks: clocksAt(clock.now),
      onError: () => {},
      onWarning: () => {},
    })
    const log = new SqliteExecutionLog(ledger)
    const { route } = aRouter({ agents: [anAgent('a')], log, now: clock.now })
    for (let hours = 0; hours < 24 * 10; hours += 6) {
      await route(anEnvelope(), { id: `at ${hours}` })
      clock.pass(6 * hour)
    }

    const keptExecutions = log.read.list({ limit: 1000 })
    expect(keptExecutions.length).toBeGreaterThan(11)
    expect(keptExecutions.length).toBeLessThan(16)
    expect(keptExecutions[0]?.id).toBe('at 234')
    expect(log.read.find('at 0')).toBeUndefined()
    expect(ledger.executions.verify().broken).toBeUndefined()
    await ledger.close()
  })

  test('encrypts payloads when a log key is set', async () => {
    const file = await aStore()
    const keys = { k1: 'k'.repeat(32) }
    const agent = anAgent('a', { handle: () => ({ answer: 'very private' }) })
    const bridge = new Drawbridge({
      sources: [intentSource({ agents: [agent], keys, logKey: 'k1' })],
      store: file,
    })
    const result = await bridge.call('Look', { question: 'very private, too' })
    const id = String(result._meta?.['dev.drawbridge/call-id'])
    const decryptedExecution = bridge.executions.find(id)
    await bridge.close()

    const ledger = aLedger(file)
    const rawText = JSON.stringify(ledger.executions.find(id))
    await ledger.close()

    expect(JSON.stringify(decryptedExecution)).toContain('very private, too')
    expect(rawText).not.toContain('private')
    expect(rawText).toContain('sealed')
  })

  test('when unwritable, blocks executions with side effects but not reads', async () => {
    const reached: string[] = []
    const brokenLog = {
      append: () => Promise.reject(new Error('disk full')),
      read: { list: () => [], find: () => undefined, verify: () => ({ count: 0 }) },
      claim: async () => false,
    }
    const handle = () => void reached.push('x')
    const errors: unknown[] = []
    const { route } = aRouter({
      agents: [anAgent('a', { handle }), aPayer('b', { handle }), aPayer('c', { handle })],
      log: brokenLog,
      onOperationalError: (error) => errors.push(error),
    })

    const payment = await route(anEnvelope({ intent: pay }))
    const look = await route()

    expect(payment).toMatchObject({
      state: 'failed',
      response: { error: { details: { reason: 'log_unavailable' } } },
    })
    expect(look.state).toBe('done')
    expect(reached).toEqual(['x'])
    await eventually(() => expect(errors.length).toBeGreaterThan(0))
  })

  test('groups concurrent writes into one commit', async () => {
    const ledger = aLedger(await aStore())
    const log = new SqliteExecutionLog(ledger)
    const { route } = aRouter({ agents: [aPayer('a')], log })
    const startedAt = performance.now()

    await Promise.all(Array.from({ length: 500 }, () => route(anEnvelope({ intent: pay }))))

    expect(log.read.list({ limit: 1000, state: 'done' })).toHaveLength(500)
    // Separate commits would take more than a second.
    expect(performance.now() - startedAt).toBeLessThan(atMost(1000))
    expect(ledger.executions.verify().broken).toBeUndefined()
    await ledger.close()
  })
})

describe('resuming an interrupted execution', () => {
  const common = { id: 'e1', at: 0 }
  const decision = {
    intent: 'Pay',
    version: '1.0',
    strategy: 'fallback',
    order: 'registry',
    candidates: [],
    plan: ['a', 'b'],
    registry: '',
    policy: '',
    health: {},
  } as const
  const begunEvent = (repeatable: boolean): ExecutionEvent => ({
    ...common,
    event: 'begun',
    source: 'intents',
    address: 'Pay',
    caller: 'ann',
    effects: { writes: true, irreversible: !repeatable, repeatable, reachesOut: false },
    envelope: anEnvelope({ intent: pay }),
    decision,
  })
  const askedEvent: ExecutionEvent = { ...common, event: 'asked', number: 1, agent: 'a' }
  const failedAttempt = (
    code: 'AGENT_UNAVAILABLE' | 'AGENT_ERROR' | 'TRANSPORT_ERROR',
    certainty: 'nothing' | 'told' | 'unknown',
  ): ExecutionEvent => ({
    ...common,
    event: 'answered',
    number: 1,
    agent: 'a',
    duration: 1,
    error: { code, message: 'no', retryable: false, details: {} },
    certainty,
  })
  const successfulAttempt: ExecutionEvent = {
    ...common,
    event: 'answered',
    number: 1,
    agent: 'a',
    duration: 1,
    payload: { paid: 1 },
  }
  const classify = (
    events: readonly ExecutionEvent[],
    state: LoggedExecution['state'] = 'interrupted',
  ) => {
    const resumption = toResumption({
      id: 'e1',
      intent: 'Pay',
      version: '1.0',
      caller: 'ann',
      state,
      started: 0,
      events,
    })
    return isFault(resumption) ? 'refused' : resumption.kind
  }

  test.each([
    ['continues when no agent was asked', [begunEvent(false)], 'continue'],
    [
      'is refused when an irreversible attempt is unanswered',
      [begunEvent(false), askedEvent],
      'refused',
    ],
    [
      'continues when a repeatable attempt is unanswered',
      [begunEvent(true), askedEvent],
      'continue',
    ],
    [
      'continues when the agent certainly did nothing',
      [begunEvent(false), askedEvent, failedAttempt('AGENT_UNAVAILABLE', 'nothing')],
      'continue',
    ],
    [
      'is refused when the effect of the attempt is unknown',
      [begunEvent(false), askedEvent, failedAttempt('TRANSPORT_ERROR', 'unknown')],
      'refused',
    ],
    [
      'completes with the error when the agent declined',
      [begunEvent(false), askedEvent, failedAttempt('AGENT_ERROR', 'told')],
      'complete',
    ],
    [
      'completes with the answer when only the end event is missing',
      [begunEvent(false), askedEvent, successfulAttempt],
      'complete',
    ],
    ['is refused when the begun event is missing', [askedEvent], 'refused'],
  ] as const)('%s', (_, events, expected) => {
    expect(classify(events)).toBe(expected)
  })

  test.each(['running', 'done', 'failed', 'unknown'] as const)(
    'a %s execution cannot be resumed',
    (state) => {
      expect(classify([begunEvent(true)], state)).toBe('refused')
    },
  )
})

describe('bridge.resume', () => {
  /** Logs an execution in a child process that is killed while its agent runs. */
  async function aCrash(file: string, capability: string): Promise<string> {
    const script = startScript(
      `
      const { SqliteExecutionLog } = await import('${new URL('../../dist/storage/ledger/sqlite-execution-log.js', import.meta.url)}')
      const { intentSource } = await import('${new URL('../../dist/index.js', import.meta.url)}')
      const store = ledger(args[0])
      const source = intentSource([{ name: 'a', capabilities: [${capability}], handle: () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}) } }])
      source.connect({ log: new SqliteExecutionLog(store), now: Date.now })
      const { capabilities: [one] } = await source.read()
      const { Cancellation } = await import('${new URL('../../dist/capability/cancellation.js', import.meta.url)}')
      if (!one.effects.writes) await store.write(() => {})
      setTimeout(() => {}, 60_000)
      await one.invoke({ id: 'e1', capability: one, address: one.name, input: { order: 7 }, caller: { subject: 'ann' }, cancellation: new Cancellation() })
      `,
      [file],
    )
    await script.exited
    return 'e1'
  }

  test('refuses an irreversible execution that may have acted and explains what to do', async () => {
    const file = await aStore()
    const id = await aCrash(file, `{ intent: 'Pay', effects: 'irreversible' }`)
    const reached: unknown[] = []
    const bridge = new Drawbridge({
      sources: [intentSource([aPayer('a', { handle: (envelope) => void reached.push(envelope) })])],
      store: file,
    })

    const resumption = await bridge.resume(id, 'ops')

    expect(bridge.executions.find(id)?.state).toBe('interrupted')
    expect(resumption).toMatchObject({ fault: expect.stringContaining('must not happen twice') })
    expect(reached).toEqual([])
    await bridge.close()
  })

  test('routes a repeatable execution once with its original payload under concurrent resumes', async () => {
    const file = await aStore()
    const effects = `{ writes: true, irreversible: false, repeatable: true }`
    const id = await aCrash(file, `{ intent: 'Pay', effects: ${effects} }`)
    const payloads: unknown[] = []
    const bridge = new Drawbridge({
      sources: [
        intentSource([
          aPayer('a', {
            capability: { effects: { writes: true, irreversible: false, repeatable: true } },
            handle: ({ payload }) => {
              payloads.push(payload)
              return { paid: true }
            },
          }),
        ]),
      ],
      store: file,
    })

    const resumptions = await Promise.all([bridge.resume(id, 'ops'), bridge.resume(id, 'dev')])

    expect(payloads).toEqual([{ order: 7 }])
    expect(resumptions.filter((resumption) => 'execution' in resumption)).toHaveLength(1)
    expect(bridge.executions.find(id)).toMatchObject({ state: 'done' })
    expect(bridge.executions.find(id)?.events.map(({ event }) => event)).toEqual([
      'begun',
      'asked',
      'resumed',
      'asked',
      'answered',
      'ended',
    ])
    await bridge.close()
  })
})

describe('guarantees of the router', () => {
  const codes = ['VALIDATION_ERROR', 'AGENT_ERROR', 'UNAUTHORIZED', 'WORKFLOW_ABORTED'] as const

  test.each(codes)(
    'never throws: %s is returned as a response with the log enabled',
    async (code) => {
      const ledger = aLedger()
      const log = new SqliteExecutionLog(ledger)
      const agent = anAgent('a', { handle: () => new AgentError(code, 'no') })
      const { route } = aRouter({ agents: [agent], log })

      expect((await route()).response).toMatchObject({ status: 'error', error: { code } })
      expect(log.read.list({ limit: 1 })).toMatchObject([{ state: 'failed' }])
      await ledger.close()
    },
  )

  test('enforces budgets: a call over budget reaches no agent', async () => {
    let paid = 0
    const bridge = new Drawbridge({
      sources: [intentSource([aPayer('a', { handle: () => ({ paid: ++paid }) })])],
      policy: {
        rules: [
          { match: 'Pay', budgets: [{ limit: 1, thresholds: { stop: 100, reauthorise: 100 } }] },
        ],
      },
    })

    await bridge.call('Pay', { order: 1 })
    const overBudget = await bridge.call('Pay', { order: 2 })

    expect(overBudget._meta?.[failure]).toMatchObject({ code: 'budget_exceeded' })
    expect(paid).toBe(1)
    await bridge.close()
  })

  test('enforces output schemas with a typed failure', async () => {
    const outputSchema = { type: 'object', required: ['cents'] }
    const bridge = new Drawbridge({
      sources: [intentSource([anAgent('a', { capability: { outputSchema } })])],
    })

    const result = await bridge.call('Look')

    expect(result._meta?.[failure]).toMatchObject({ code: 'PROTOCOL_ERROR' })
    await bridge.close()
  })

  test('enforces attempt timeouts', async () => {
    const agent = anAgent('a', { handle: neverSettle })
    const { route } = aRouter({ agents: [agent], routing: { attemptTimeout: 30 } })

    const { response } = await route()

    expect(response.error).toMatchObject({ code: 'AGENT_TIMEOUT' })
  })

  test('executes once for fifty concurrent calls with one key', async () => {
    let paid = 0
    const handle = async () => resolveAfter(5, { paid: ++paid })
    const bridge = new Drawbridge({ sources: [intentSource([aPayer('a', { handle })])] })
    const meta = { 'dev.drawbridge/idempotency-key': 'one' }

    await Promise.all(Array.from({ length: 50 }, () => bridge.call('Pay', { order: 1 }, { meta })))

    expect(paid).toBe(1)
    expect(bridge.executions.list({ limit: 100 })).toHaveLength(1)
    await bridge.close()
  })
})
