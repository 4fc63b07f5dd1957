import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { localUser } from '../../src/capability/caller.ts'
import { type Done, done, type Outcome } from '../../src/capability/outcome.ts'
import { type Budget, defaultThresholds, type Rules } from '../../src/capability/rules.ts'
import { Approvals } from '../../src/governance/approvals.ts'
import { toBalance } from '../../src/governance/budget.ts'
import { refused } from '../../src/governance/failures.ts'
import { createRefine } from '../../src/governance/policy.ts'
import { settleRun } from '../../src/governance/settle-run.ts'
import { createSteadyClock } from '../../src/runtime/clock.ts'
import { aClock, day, hour, minute, second } from '../support/a-clock.ts'
import { aPayment, countWords, detailsOf, type PaymentParts, wordOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount, atMost } from '../support/amount.ts'
import { aCall, aCaller, aPipeline, type PipelineParts } from '../support/builders.ts'

const aBudget = (parts: Partial<Budget> = {}): Budget => ({
  id: 'b',
  unit: 'calls',
  limit: 50,
  per: 'caller',
  window: 'day',
  thresholds: { alert: 80, reauthorise: 100, stop: 100 },
  ...parts,
})

const euros = (limit: number, cost: number, parts: Partial<Budget> = {}): Partial<Rules> => ({
  cost: { amount: cost, unit: 'EUR' },
  budgets: [aBudget({ unit: 'EUR', limit, ...parts })],
})

/** A payment under these rules; every call of it is another order. */
function aTill(parts: PaymentParts, options: PipelineParts = {}) {
  const clock = aClock()
  const pipeline = aPipeline({ now: clock.now, ...options })
  const { pay, ran } = aPayment(parts)
  let orders = 0
  const buy = (subject = 'ann', capability = pay) =>
    pipeline.govern(
      aCall({ capability, caller: { ...aCaller(), subject }, input: { order: orders++ } }),
    )
  const buyMany = (count: number, subject?: string) =>
    Promise.all(Array.from({ length: count }, () => buy(subject)))
  const spent = (window = '2026-03-10', account = 'b ann') =>
    pipeline.ledger.read.spent(account, window)
  return { ...pipeline, pay, ran, clock, buy, buyMany, spent }
}

test('200 calls at once for 50 units get exactly 50', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const { ran, buyMany, spent, ledger } = aTill({ rules: { budgets: [aBudget()] } }, { file })

  const outcomes = await buyMany(200)

  expect(countWords(outcomes)).toEqual({ done: 50, budget_exceeded: 150 })
  expect(ran).toHaveLength(50)
  expect(spent()).toBe(50)
  await ledger.close()
})

test('200 calls at once for 5 euros at 10 cents get exactly 50', async () => {
  const { ran, buyMany, spent } = aTill({ rules: euros(5, 0.1) })
  expect(countWords(await buyMany(200))).toEqual({ done: 50, budget_exceeded: 150 })
  expect(ran).toHaveLength(50)
  expect(spent()).toBeCloseTo(5, 9)
})

test('where the limits are closer than the agreement, calls at once stop at the limit', async () => {
  const thresholds = { alert: 10, reauthorise: 100, stop: 50 }
  const { buyMany } = aTill({ rules: { budgets: [aBudget({ thresholds })] } })
  expect(countWords(await buyMany(200))).toEqual({ done: 25, budget_exceeded: 175 })
})

test('after a crash at 25 there are 25 left, and what was under way counts as spent', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const rules = { budgets: [aBudget()], timeout: 20_000 }
  let served = 0
  const before = aTill(
    {
      rules,
      invoke: () => (++served <= 20 ? Promise.resolve(done({})) : new Promise<never>(() => {})),
    },
    { file },
  )
  void before.buyMany(25)
  await vi.waitUntil(() => before.ran.length === 25)

  const after = aTill({ name: 'pay', rules }, { file, isAlive: () => false })
  const outcomes = await Promise.all(
    Array.from({ length: 200 }, (_, order) =>
      after.govern(aCall({ capability: after.pay, input: { later: order } })),
    ),
  )

  expect(countWords(outcomes)).toEqual({ done: 25, budget_exceeded: 175 })
  expect(after.spent()).toBe(50)
})

const card = (code: string): Outcome => ({
  kind: 'failed',
  failure: { code, fixedBy: 'model', message: 'No.', retryable: false },
})

test('what failed for certain costs nothing', async () => {
  const { buy, spent, ran } = aTill({
    rules: euros(10, 10),
    invoke: async () => (ran.length < 4 ? card('declined') : done({})),
  })

  const outcomes = [await buy(), await buy(), await buy(), await buy(), await buy()]

  expect(outcomes.map(wordOf)).toEqual([
    'declined',
    'declined',
    'declined',
    'done',
    'budget_exceeded',
  ])
  expect(spent()).toBe(10)
})

test.each([
  ['takes too long', { timeout: 5 }, () => new Promise<never>(() => {})],
  ['does not know', {}, async () => refused('outcome_unknown', 'The line broke.')],
  ['answers too much', {}, async () => done('x'.repeat(20_000))],
])('what may have happened is paid for: it %s', async (_, rules, invoke) => {
  const { buy, spent } = aTill({ rules: { ...euros(10, 4), ...rules }, invoke })
  await buy()
  expect(spent()).toBe(4)
})

test('an operator who finds out that it did not happen gives the money back, once', async () => {
  const { buy, spent, ledger } = aTill({
    rules: euros(10, 4),
    invoke: async () => refused('outcome_unknown', 'The line broke.'),
  })
  await buy()
  await buy()
  const [run] = ledger.read.runs('unknown', 1)
  const settle = () => settleRun(ledger, run?.id ?? '', 'failed', { by: 'eve', at: 0 })

  await settle()
  await settle()

  expect(spent()).toBe(4)
})

test.each([
  ['less', 1.5, 1.5],
  ['more', 7, 7],
  ['nothing', 0, 0],
  ['a negative amount, which is no amount', -100, 4],
  ['no number', Number.NaN, 4],
  ['no end', Number.POSITIVE_INFINITY, 4],
  ['a text', '1' as never, 4],
])('what it really cost is what is spent: %s', async (_, cost, expected) => {
  const { buy, spent, audited } = aTill({
    rules: euros(100, 4),
    invoke: async () => ({ kind: 'done', data: {}, cost }),
  })
  await buy()
  expect(spent()).toBe(expected)
  expect((await audited()).at(-1)).toMatchObject({ event: 'end', cost: expected })
})

test('no account is ever below nothing', async () => {
  const { ledger } = aTill({})
  await ledger.write((writer) => {
    writer.charge('a', 'w', -5)
    writer.charge('a', 'w', 3)
    writer.charge('a', 'w', -4)
  })
  expect(ledger.read.spent('a', 'w')).toBe(0)
})

/** After a call a budget of 100 stands here; this is what it says about it. */
const stands: readonly [after: number, state: string][] = [
  [79, 'silent'],
  [80, 'alert'],
  [99, 'alert'],
  [100, 'alert'],
  [101, 'reauthorise'],
  [119, 'reauthorise'],
  [120, 'reauthorise'],
  [121, 'stop'],
]
test.each(stands)('a budget of 100 that would stand at %d after the call: %s', (after, state) => {
  const budget = aBudget({ limit: 100, thresholds: defaultThresholds })
  const charge = { account: '', window: '', amount: 1, unit: 'calls', ceiling: 0 }
  expect(toBalance(budget, charge, after - 1).state).toBe(state)
})

/** What is spent already, in percent, and what becomes of the next call. */
const spends: readonly [spent: number, word: string, notice: boolean][] = [
  [0.78, 'done', false],
  [0.79, 'done', true],
  [0.8, 'done', true],
  [0.99, 'done', true],
  [1.0, 'approval_required', false],
  [1.19, 'approval_required', false],
  [1.2, 'budget_exceeded', false],
]
test.each(spends)(
  'when %d of a budget is spent, the next call is %s, with a notice: %s',
  async (ratio, word, notice) => {
    const rules = { budgets: [aBudget({ limit: 100, thresholds: defaultThresholds })] }
    const { buy, ledger, ran } = aTill({ rules })
    await ledger.write((writer) => writer.charge('b ann', '2026-03-10', ratio * 100))

    const outcome = await buy()

    expect(wordOf(outcome)).toBe(word)
    expect((outcome as Done).notices?.map(({ about }) => about)).toEqual(
      notice ? ['budget'] : undefined,
    )
    expect(ran).toHaveLength(word === 'done' ? 1 : 0)
  },
)

test('sums of cents reach a threshold when people think they do', async () => {
  const { buy } = aTill({ rules: euros(0.3, 0.1, { thresholds: defaultThresholds }) })
  expect([await buy(), await buy(), await buy()].map(wordOf)).toEqual(['done', 'done', 'done'])
  const eight = aTill({ rules: euros(1, 0.1, { thresholds: defaultThresholds }) })
  const outcomes: Outcome[] = []
  for (let time = 0; time < 8; time++) outcomes.push(await eight.buy())
  expect(outcomes.map((outcome) => (outcome as Done).notices?.length ?? 0)).toEqual([
    0, 0, 0, 0, 0, 0, 0, 1,
  ])
})

test('a notice says in words and in data how much is used', async () => {
  const { buy } = aTill({ rules: euros(10, 8, { thresholds: defaultThresholds }) })
  expect(await buy()).toMatchObject({
    notices: [
      {
        about: 'budget',
        text: 'Budget: 8 of 10 EUR per caller and day are used (80 %).',
        data: { state: 'alert', unit: 'EUR', limit: 10, used: 8, per: 'caller', window: 'day' },
      },
    ],
  })
})

test('above the limit a human can agree to one call more, but not beyond the end', async () => {
  const rules = { budgets: [aBudget({ limit: 10, thresholds: defaultThresholds })] }
  const { govern, pay, ran, clock, buyMany, ledger } = aTill({ rules })
  const desk = new Approvals(ledger, clock.now)
  await buyMany(10)
  const over = (order: string) => govern(aCall({ capability: pay, input: { order } }))
  const agree = async (order: string) => {
    const asked = await over(order)
    await desk.decide(String(detailsOf(asked).approval), 'approved', 'eve')
    return [wordOf(asked), wordOf(await over(order))]
  }

  expect(await agree('eleventh')).toEqual(['approval_required', 'done'])
  expect(await agree('twelfth')).toEqual(['approval_required', 'done'])
  expect(wordOf(await over('thirteenth'))).toBe('budget_exceeded')
  expect(ran).toHaveLength(12)
})

test('a hundred agreements at once do not go beyond the end', async () => {
  const rules = { budgets: [aBudget({ limit: 10, thresholds: defaultThresholds })] }
  const { govern, pay, ran, clock, buyMany, ledger } = aTill({ rules })
  const desk = new Approvals(ledger, clock.now)
  await buyMany(10)
  const orders = Array.from({ length: 100 }, (_, order) => ({ over: order }))
  const all = () => Promise.all(orders.map((input) => govern(aCall({ capability: pay, input }))))
  for (const outcome of await all())
    await desk.decide(String(detailsOf(outcome).approval), 'approved', 'eve')

  const outcomes = await all()

  expect(countWords(outcomes)).toEqual({ done: 2, budget_exceeded: 98 })
  expect(ran).toHaveLength(12)
})

test.each([
  ['calls', { budgets: [aBudget({ limit: 0 })] }],
  [
    'calls, with room to agree',
    { budgets: [aBudget({ limit: 0, thresholds: defaultThresholds })] },
  ],
  ['money', euros(0, 0.01)],
])('a budget of nothing stops everything: %s', async (_, rules) => {
  const { buy, ran } = aTill({ rules })
  expect(await buy()).toMatchObject({ failure: { code: 'budget_exceeded', details: { left: 0 } } })
  expect(ran).toEqual([])
})

test('what is refused says how much is left, of what, and when it begins anew', async () => {
  const { buy } = aTill({ rules: euros(10, 6) })
  await buy()
  expect(await buy()).toMatchObject({
    failure: {
      code: 'budget_exceeded',
      message: expect.stringMatching(/4 of 10 EUR.*needs 6.*next day \(UTC\)/s),
      details: { limit: 10, unit: 'EUR', left: 4, per: 'caller', window: 'day' },
    },
  })
})

test.each([
  ['day', '2026-03-10T23:59:59.999Z', 1],
  ['day', '2026-12-31T23:59:59.999Z', 1],
  ['month', '2026-03-31T23:59:59.999Z', 1],
  ['month', '2026-12-31T23:59:59.999Z', 1],
] as const)('a budget per %s begins anew at midnight UTC: %s', async (window, end, tick) => {
  const clock = aClock(Date.parse(end))
  const { buy } = aTill({ rules: { budgets: [aBudget({ limit: 1, window })] } }, { now: clock.now })

  const before = [await buy(), await buy()]
  clock.pass(tick)
  const after = [await buy(), await buy()]

  expect([...before, ...after].map(wordOf)).toEqual([
    'done',
    'budget_exceeded',
    'done',
    'budget_exceeded',
  ])
})

test('a budget per month does not begin anew with the day', async () => {
  const { buy, clock } = aTill({ rules: { budgets: [aBudget({ limit: 1, window: 'month' })] } })
  await buy()
  clock.pass(day)
  expect(wordOf(await buy())).toBe('budget_exceeded')
})

test('a budget per call bounds one call and is never used up', async () => {
  const dear = aTill({ rules: euros(5, 6, { window: 'call' }) })
  const cheap = aTill({ rules: euros(5, 5, { window: 'call' }) })
  expect(wordOf(await dear.buy())).toBe('budget_exceeded')
  expect(countWords(await cheap.buyMany(20))).toEqual({ done: 20 })
})

test('a call that goes over midnight is paid from the day it began', async () => {
  const clock = aClock(Date.parse('2026-03-10T23:59:59Z'))
  const { buy, spent } = aTill(
    {
      rules: euros(10, 4),
      invoke: async () => {
        clock.pass(2 * second)
        return { kind: 'done', data: {}, cost: 3 }
      },
    },
    { now: clock.now },
  )
  await buy()
  expect([spent('2026-03-10'), spent('2026-03-11')]).toEqual([3, 0])
})

test('a clock that is set back, after a restart, finds what was spent on that day', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const rules = { budgets: [aBudget({ limit: 1 })] }
  const clock = aClock()
  const before = aTill({ rules }, { file, now: clock.now })
  await before.buy()
  clock.pass(day)
  await before.buy()
  await before.ledger.close()

  clock.pass(-day)
  const after = aTill({ rules }, { file, now: clock.now })

  const outcome = await after.govern(aCall({ capability: after.pay, input: { order: 'new' } }))

  expect(wordOf(outcome)).toBe('budget_exceeded')
})

test('a clock that is set while the process runs moves no budget and fills no bucket', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-03-10T12:00:00Z') })
  const steadyNow = createSteadyClock()
  const began = steadyNow()

  const readings = [40 * day, -40 * day, hour].map((jump) => {
    vi.setSystemTime(began + jump)
    return steadyNow() - began
  })
  vi.useRealTimers()

  for (const reading of readings) {
    expect(reading).toBeGreaterThanOrEqual(0)
    expect(reading).toBeLessThan(minute)
  }
})

test('every account is its own: caller, source, capability', async () => {
  const rules: Partial<Rules> = {
    budgets: [
      aBudget({ id: 'mine', limit: 2, per: 'caller' }),
      aBudget({ id: 'ours', limit: 3, per: 'source' }),
    ],
  }
  const { buy, pay } = aTill({ rules })
  const elsewhere = { ...pay, name: 'refund', origin: { source: 'other', pointer: '' } }

  const words = [
    await buy('ann'),
    await buy('ann'),
    await buy('ann'),
    await buy('ben'),
    await buy('ben'),
    await buy('ben', elsewhere),
  ].map(wordOf)

  expect(words).toEqual(['done', 'done', 'budget_exceeded', 'done', 'budget_exceeded', 'done'])
})

test('of two budgets the stricter wins, and a refusal by one takes nothing from the other', async () => {
  const { buy, buyMany, spent } = aTill({
    rules: {
      budgets: [aBudget({ id: 'large', limit: 100 }), aBudget({ id: 'small', limit: 3 })],
    },
  })
  const outcomes = [...(await buyMany(10)), await buy()]
  expect(countWords(outcomes)).toEqual({ done: 3, budget_exceeded: 8 })
  expect(spent('2026-03-10', 'large ann')).toBe(3)
})

test('a policy adds a budget to what the source declares, and a new limit keeps what was spent', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const limited = (limit: number) =>
    createRefine([{ match: ['p*'], budgets: [aBudget({ limit })] }])(aPayment().pay)
  const before = aTill({ rules: limited(10).rules }, { file })
  await before.buyMany(6)
  const after = aTill({ rules: limited(5).rules }, { file })
  expect(wordOf(await after.buy('ann', { ...after.pay, name: 'pay_more' }))).toBe('budget_exceeded')
})

test('above its rate a caller is told when to come back, and does so with success', async () => {
  const { buy, buyMany, clock, ran } = aTill({
    rules: { rates: [{ id: 'r', calls: 10, seconds: 1 }] },
  })

  const outcomes = await buyMany(15)
  const wait = Number(detailsOf(outcomes.at(-1) as Outcome).retry_after_ms)
  clock.pass(wait - 1)
  const early = await buy()
  clock.pass(1)
  const inTime = await buy()

  expect(countWords(outcomes)).toEqual({ done: 10, rate_limited: 5 })
  expect(outcomes.at(-1)).toMatchObject({ failure: { retryable: true } })
  expect(wait).toBe(100)
  expect([wordOf(early), wordOf(inTime)]).toEqual(['rate_limited', 'done'])
  expect(ran).toHaveLength(11)
})

test('a bucket fills evenly, and not beyond the whole', async () => {
  const { buyMany, clock } = aTill({ rules: { rates: [{ id: 'r', calls: 10, seconds: 1 }] } })
  await buyMany(10)
  clock.pass(500)
  const half = await buyMany(10)
  clock.pass(hour)
  const whole = await buyMany(20)
  expect([countWords(half).done, countWords(whole).done]).toEqual([5, 10])
})

test('what one rate refuses takes nothing from another', async () => {
  const { buy, buyMany, clock } = aTill({
    rules: {
      rates: [
        { id: 'second', calls: 1, seconds: 1 },
        { id: 'minute', calls: 10, seconds: 60 },
      ],
    },
  })
  await buyMany(50)
  clock.pass(second)
  expect(wordOf(await buy())).toBe('done')
})

test('where policy only observes, rates and budgets are written down and nobody is stopped', async () => {
  const rules = { budgets: [aBudget({ limit: 2 })], rates: [{ id: 'r', calls: 3, seconds: 60 }] }
  const clock = aClock()
  const { govern, audited } = aPipeline({
    now: clock.now,
    settings: { observeOnly: true },
  })
  const { pay, ran } = aPayment({ rules })
  for (let order = 0; order < 5; order++) await govern(aCall({ capability: pay, input: { order } }))

  const ends = (await audited()).filter(({ event }) => event === 'end')

  expect(ran).toHaveLength(5)
  expect(ends.map(({ decisions = [] }) => decisions.map(({ code }) => code))).toEqual([
    [],
    [],
    ['budget_exceeded'],
    ['rate_limited', 'budget_exceeded'],
    ['rate_limited', 'budget_exceeded'],
  ])
})

test('a refusal by budget or rate takes less than 10 ms', async () => {
  const { govern, pay } = aTill({
    rules: { budgets: [aBudget({ limit: 0 })], rates: [{ id: 'r', calls: 500, seconds: 1e9 }] },
  })
  const times: Record<string, number[]> = { budget_exceeded: [], rate_limited: [] }
  for (let order = 0; order < 1000; order++) {
    const began = performance.now()
    const outcome = await govern(aCall({ capability: pay, input: { order } }))
    times[wordOf(outcome)]?.push(performance.now() - began)
  }
  for (const [word, taken] of Object.entries(times)) {
    const [usual, slow] = [percentile(taken, 0.5), percentile(taken, 0.99)]
    console.info(`G7: ${word} after ${usual.toFixed(3)} ms, p99 ${slow.toFixed(3)} ms`)
    expect(taken).toHaveLength(500)
    // Not the 99th: a machine that is busy with other tests must not decide.
    expect(percentile(taken, 0.9)).toBeLessThan(atMost(10))
  }
})

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? 0

test('a caller at 50 times the rate does not make the others wait', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const rules = { rates: [{ id: 'r', calls: 100, seconds: 1 }] }
  const { govern, pay } = aTill({ rules }, { file, now: Date.now })
  let orders = 0
  const buy = (subject: string) =>
    govern(aCall({ capability: pay, caller: { ...localUser, subject }, input: { at: orders++ } }))
  const greedy: Promise<Outcome>[] = []
  /** Ten calls, one every 20 ms, while another caller makes so many in each of the 20. */
  const measure = async (beside: number): Promise<number[]> => {
    const times: number[] = []
    for (let round = 0; round < 10; round++) {
      const began = performance.now()
      const honest = buy('ben').then((outcome) => {
        expect(wordOf(outcome)).toBe('done')
        times.push(performance.now() - began)
      })
      for (let part = 1; part <= 10; part++) {
        for (let count = 0; count < beside / 10; count++) greedy.push(buy('ann'))
        await sleep(Math.max(0, began + part * 2 - performance.now()))
      }
      await honest
    }
    return times
  }
  const alone: number[] = []
  const crowded: number[] = []
  const start = Date.now()

  // In turns: whatever else the machine does happens to both.
  for (let turn = 0; turn < amount(2, 12); turn++) {
    alone.push(...(await measure(0)))
    crowded.push(...(await measure(50)))
  }

  const toWords = (times: number[]) =>
    [0.5, 0.9, 0.99].map((share) => percentile(times, share).toFixed(1)).join(' / ')
  const said = countWords(await Promise.all(greedy))
  console.info(
    `G7: others wait ${toWords(alone)} ms (p50 / p90 / p99); beside one at 50x ${toWords(crowded)} ms; that one heard ${JSON.stringify(said)}`,
  )
  // What the rate allows and not one more: a full bucket, and 100 for every second.
  expect(said.done).toBeLessThanOrEqual(100 + (100 * (Date.now() - start)) / 1000)
  // The 99th is printed, not demanded: on a machine that runs other tests it is theirs. So are two
  // milliseconds of the median.
  expect(percentile(crowded, 0.5)).toBeLessThan(atMost(1.5 * percentile(alone, 0.5) + 2))
})
