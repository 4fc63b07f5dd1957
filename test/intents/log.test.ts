import { randomUUID } from 'node:crypto'
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
import { anAgent, anEnvelope, aPayer, aRouter, later, never } from '../support/agents.ts'
import { atMost } from '../support/amount.ts'
import { aLedger } from '../support/builders.ts'
import { startScript } from '../support/child-script.ts'

const failure = 'dev.drawbridge/failure'
const pay = { name: 'Pay', version: '1.0' }

const aStore = async () => path.join(await aProject({}), 'store.db')

/** Routes so many payments, and gives the log they are in. */
async function aWrittenLog(file: string, payments = 5) {
  const ledger = aLedger(file)
  const log = new SqliteExecutionLog(ledger, Date.now)
  const { route } = aRouter({ agents: [aPayer('a')], log })
  for (let number = 0; number < payments; number++)
    await route(anEnvelope({ intent: pay, payload: { number } }))
  return { ledger, log }
}

describe('the log', () => {
  test('has every execution with its payload, its decision, its attempts and its answer', async () => {
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

  test('is read the same after the process has ended', async () => {
    const file = await aStore()
    const { log, ledger } = await aWrittenLog(file)
    const before = log.read.list({ limit: 10 }).map(({ id }) => log.read.find(id))
    await ledger.close()

    const again = aLedger(file)
    const { executions } = again

    expect(executions.list({ limit: 10 }).map(({ id }) => executions.find(id))).toEqual(before)
    await again.close()
  })

  test('names the event that was changed, or that is missing', async () => {
    const file = await aStore()
    const { ledger } = await aWrittenLog(file)
    expect(ledger.executions.verify()).toEqual({ count: 21 })
    await ledger.close()

    const database = openSqlite(file)
    database.exec(
      `update execution_events set lines = replace(lines, '"number":3}', '"number":4}')`,
    )
    database.close()

    const again = aLedger(file)
    expect(again.executions.verify()).toMatchObject({
      broken: { reason: 'this record was changed' },
    })
    await again.close()
  })

  test('forgets what is older than it should keep, and can still be followed', async () => {
    const clock = aClock()
    const file = await aStore()
    const ledger = new SqliteLedger({
      file,
      processId: randomUUID(),
      pid: process.pid,
      keepRunsMs: day,
      keepExecutionsMs: 3 * day,
      now: clock.now,
      isAlive: () => true,
      onError: () => {},
    })
    const log = new SqliteExecutionLog(ledger, clock.now)
    const { route } = aRouter({ agents: [anAgent('a')], log, now: clock.now })
    for (let hours = 0; hours < 24 * 10; hours += 6) {
      await route(anEnvelope(), { id: `at ${hours}` })
      clock.pass(6 * hour)
    }

    const kept = log.read.list({ limit: 1000 })
    expect(kept.length).toBeGreaterThan(11)
    expect(kept.length).toBeLessThan(16)
    expect(kept[0]?.id).toBe('at 234')
    expect(log.read.find('at 0')).toBeUndefined()
    expect(ledger.executions.verify().broken).toBeUndefined()
    await ledger.close()
  })

  test('keeps payloads unreadable to those without the key', async () => {
    const file = await aStore()
    const keys = { k1: 'k'.repeat(32) }
    const agent = anAgent('a', { handle: () => ({ answer: 'very private' }) })
    const bridge = new Drawbridge({
      sources: [intentSource({ agents: [agent], keys, logKey: 'k1' })],
      store: file,
    })
    const result = await bridge.call('Look', { question: 'very private, too' })
    const id = String(result._meta?.['dev.drawbridge/call-id'])
    const opened = bridge.executions.find(id)
    await bridge.close()

    const ledger = aLedger(file)
    const raw = JSON.stringify(ledger.executions.find(id))
    await ledger.close()

    expect(JSON.stringify(opened)).toContain('very private, too')
    expect(raw).not.toContain('private')
    expect(raw).toContain('sealed')
  })

  test('that cannot be written: what takes effect is not done, what only reads is', async () => {
    const reached: string[] = []
    const broken = {
      append: () => Promise.reject(new Error('disk full')),
      read: { list: () => [], find: () => undefined, verify: () => ({ count: 0 }) },
      claim: async () => false,
    }
    const handle = () => void reached.push('x')
    const troubles: unknown[] = []
    const { route } = aRouter({
      agents: [anAgent('a', { handle }), aPayer('b', { handle }), aPayer('c', { handle })],
      log: broken,
      onTrouble: (error) => troubles.push(error),
    })

    const refused = await route(anEnvelope({ intent: pay }))
    const done = await route()
    await later(5, 0)

    expect(refused).toMatchObject({
      state: 'failed',
      response: { error: { details: { reason: 'log_unavailable' } } },
    })
    expect(done.state).toBe('done')
    expect(reached).toEqual(['x'])
    expect(troubles.length).toBeGreaterThan(0)
  })

  test('takes what comes together in one go', async () => {
    const ledger = aLedger(await aStore())
    const log = new SqliteExecutionLog(ledger, Date.now)
    const { route } = aRouter({ agents: [aPayer('a')], log })
    const began = performance.now()

    await Promise.all(Array.from({ length: 500 }, () => route(anEnvelope({ intent: pay }))))

    expect(log.read.list({ limit: 1000, state: 'done' })).toHaveLength(500)
    // Each for itself, the disk would take more than a second.
    expect(performance.now() - began).toBeLessThan(atMost(1000))
    expect(ledger.executions.verify().broken).toBeUndefined()
    await ledger.close()
  })
})

describe('what may be resumed', () => {
  const about = { id: 'e1', at: 0 }
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
  const begun = (repeatable: boolean): ExecutionEvent => ({
    ...about,
    event: 'begun',
    source: 'intents',
    address: 'Pay',
    caller: 'ann',
    effects: { writes: true, irreversible: !repeatable, repeatable, reachesOut: false },
    envelope: anEnvelope({ intent: pay }),
    decision,
  })
  const asked: ExecutionEvent = { ...about, event: 'asked', number: 1, agent: 'a' }
  const answered = (
    code: 'AGENT_UNAVAILABLE' | 'AGENT_ERROR' | 'TRANSPORT_ERROR',
    certainty: 'nothing' | 'told' | 'unknown',
  ): ExecutionEvent => ({
    ...about,
    event: 'answered',
    number: 1,
    agent: 'a',
    duration: 1,
    error: { code, message: 'no', retryable: false, details: {} },
    certainty,
  })
  const success: ExecutionEvent = {
    ...about,
    event: 'answered',
    number: 1,
    agent: 'a',
    duration: 1,
    payload: { paid: 1 },
  }
  const judge = (
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
    ['nobody was asked', [begun(false)], 'continue'],
    ['somebody was asked, and it must not happen twice', [begun(false), asked], 'refused'],
    ['somebody was asked, and it may be repeated', [begun(true), asked], 'continue'],
    [
      'the one who was asked did nothing',
      [begun(false), asked, answered('AGENT_UNAVAILABLE', 'nothing')],
      'continue',
    ],
    [
      'nobody knows what the one who was asked did',
      [begun(false), asked, answered('TRANSPORT_ERROR', 'unknown')],
      'refused',
    ],
    [
      'the one who was asked said no',
      [begun(false), asked, answered('AGENT_ERROR', 'told')],
      'complete',
    ],
    ['it was done, and only its end is missing', [begun(false), asked, success], 'complete'],
    ['its beginning is missing', [asked], 'refused'],
  ] as const)('%s', (_, events, expected) => {
    expect(judge(events)).toBe(expected)
  })

  test.each(['running', 'done', 'failed', 'unknown'] as const)('nothing that is %s', (state) => {
    expect(judge([begun(true)], state)).toBe('refused')
  })
})

describe('resuming', () => {
  /** A process that is killed while it asks; what it wrote stays. */
  async function aCrash(file: string, capability: string): Promise<string> {
    const script = startScript(
      `
      const { SqliteExecutionLog } = await import('${new URL('../../dist/storage/ledger/sqlite-execution-log.js', import.meta.url)}')
      const { intentSource } = await import('${new URL('../../dist/index.js', import.meta.url)}')
      const store = ledger(words[0])
      const source = intentSource([{ name: 'a', capabilities: [${capability}], handle: () => { process.kill(process.pid, 'SIGKILL'); return new Promise(() => {}) } }])
      source.connect({ log: new SqliteExecutionLog(store, Date.now), now: Date.now })
      const { capabilities: [one] } = await source.read()
      const { Cancellation } = await import('${new URL('../../dist/capability/cancellation.js', import.meta.url)}')
      if (!one.effects.writes) await store.write(() => {})
      setTimeout(() => {}, 1000)
      await one.invoke({ id: 'e1', capability: one, address: one.name, input: { order: 7 }, caller: { subject: 'ann' }, cancellation: new Cancellation() })
      `,
      [file],
    )
    await script.ended
    return 'e1'
  }

  test('what must not happen twice is not asked again, and says what to do', async () => {
    const file = await aStore()
    const id = await aCrash(file, `{ intent: 'Pay', effects: 'irreversible' }`)
    const reached: unknown[] = []
    const bridge = new Drawbridge({
      sources: [intentSource([aPayer('a', { handle: (one) => void reached.push(one) })])],
      store: file,
    })

    const resumed = await bridge.resume(id, 'ops')

    expect(bridge.executions.find(id)?.state).toBe('interrupted')
    expect(resumed).toMatchObject({ refused: expect.stringContaining('must not happen twice') })
    expect(reached).toEqual([])
    await bridge.close()
  })

  test('what may be repeated is routed again with the payload it had, by one of those who try', async () => {
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

    const both = await Promise.all([bridge.resume(id, 'ops'), bridge.resume(id, 'dev')])

    expect(payloads).toEqual([{ order: 7 }])
    expect(both.filter((one) => 'execution' in one)).toHaveLength(1)
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

describe('claims that others make of such routers, kept', () => {
  const codes = ['VALIDATION_ERROR', 'AGENT_ERROR', 'UNAUTHORIZED', 'WORKFLOW_ABORTED'] as const

  test.each(codes)('the router never raises: %s with the log on is an answer', async (code) => {
    const ledger = aLedger()
    const log = new SqliteExecutionLog(ledger, Date.now)
    const agent = anAgent('a', { handle: () => new AgentError(code, 'no') })
    const { route } = aRouter({ agents: [agent], log })

    expect((await route()).response).toMatchObject({ status: 'error', error: { code } })
    expect(log.read.list({ limit: 1 })).toMatchObject([{ state: 'failed' }])
    await ledger.close()
  })

  test('budgets are enforced: a call over budget reaches no agent', async () => {
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
    const over = await bridge.call('Pay', { order: 2 })

    expect(over._meta?.[failure]).toMatchObject({ code: 'budget_exceeded' })
    expect(paid).toBe(1)
    await bridge.close()
  })

  test('contracts are enforced: what breaks them is a typed failure', async () => {
    const outputSchema = { type: 'object', required: ['cents'] }
    const bridge = new Drawbridge({
      sources: [intentSource([anAgent('a', { capability: { outputSchema } })])],
    })

    const result = await bridge.call('Look')

    expect(result._meta?.[failure]).toMatchObject({ code: 'PROTOCOL_ERROR' })
    await bridge.close()
  })

  test('time limits end an attempt, and do not only measure it', async () => {
    const agent = anAgent('a', { handle: never })
    const { route } = aRouter({ agents: [agent], routing: { attemptTimeout: 30 } })

    const { response } = await route()

    expect(response.error).toMatchObject({ code: 'AGENT_TIMEOUT' })
  })

  test('nothing is executed twice: fifty calls under one key are one execution', async () => {
    let paid = 0
    const handle = async () => later(5, { paid: ++paid })
    const bridge = new Drawbridge({ sources: [intentSource([aPayer('a', { handle })])] })
    const meta = { 'dev.drawbridge/idempotency-key': 'one' }

    await Promise.all(Array.from({ length: 50 }, () => bridge.call('Pay', { order: 1 }, { meta })))

    expect(paid).toBe(1)
    expect(bridge.executions.list({ limit: 100 })).toHaveLength(1)
    await bridge.close()
  })
})
