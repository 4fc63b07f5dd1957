import path from 'node:path'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { text } from '../../src/capability/content.ts'
import { type Done, done, type Failed, type Outcome } from '../../src/capability/outcome.ts'
import { Approvals } from '../../src/governance/approvals.ts'
import { refused } from '../../src/governance/failures.ts'
import { settleRun } from '../../src/governance/settle-run.ts'
import { toResult } from '../../src/mcp/to-result.ts'
import { resultMeta } from '../../src/mcp/wire-names.ts'
import { aClock, day, second } from '../support/a-clock.ts'
import { aPayment, countVerdicts, detailsOf, movesMoney, verdictOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCaller, aContract, aPipeline, type PipelineParts } from '../support/builders.ts'

const keysAtOnce = amount(40, 200)

test(`${keysAtOnce} keys with 50 concurrent calls each run ${keysAtOnce} times, and every other call gets the same answer or in_progress`, async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const { govern, ledger } = aPipeline({ file, settings: { timeoutMs: 20_000 } })
  const { pay, ran } = aPayment({
    invoke: async ({ input }) => {
      await new Promise(setImmediate)
      return done({ receipt: ran.length, input })
    },
  })
  const keys = Array.from({ length: keysAtOnce }, (_, index) => `key-${index}`)
  const callOnce = async (key: string) => {
    const call = aCall({ capability: pay, idempotencyKey: key, input: { order: key } })
    return { key, id: call.id, outcome: await govern(call) }
  }

  const startedAt = performance.now()
  const answers = await Promise.all(keys.flatMap((key) => Array(50).fill(key)).map(callOnce))
  const durationMs = performance.now() - startedAt
  const replays = await Promise.all(keys.map(callOnce))

  expect(answers).toHaveLength(50 * keysAtOnce)
  expect(ran).toHaveLength(keysAtOnce)
  expect(new Set(ran.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(keysAtOnce)
  const texts = new Map<string, Set<string>>()
  for (const { key, id, outcome } of [...answers, ...replays]) {
    if (verdictOf(outcome) === 'in_progress') continue
    texts.set(key, (texts.get(key) ?? new Set()).add(toText(outcome, id)))
  }
  expect([...texts.values()].map((set) => set.size)).toEqual(Array(keysAtOnce).fill(1))
  expect(countVerdicts(replays.map(({ outcome }) => outcome))).toEqual({ done: keysAtOnce })
  const counts = countVerdicts(answers.map(({ outcome }) => outcome))
  const verdicts = Object.keys(counts)
  expect(verdicts.filter((verdict) => !['done', 'in_progress'].includes(verdict))).toEqual([])
  console.info(
    `G1: ${answers.length} calls in ${Math.round(durationMs)} ms, ${ran.length} runs, ${JSON.stringify(counts)}`,
  )
  await ledger.close()
})

/** The wire form without the replay marker. */
function toText(outcome: Outcome, id: string): string {
  const { _meta, ...result } = toResult(outcome as Done | Failed, { id, hasOutputSchema: false })
  const { [resultMeta.replayed]: _, ...meta } = _meta ?? {}
  return JSON.stringify({ ...result, _meta: meta })
}

test('a completed call is replayed verbatim with a replay marker', async () => {
  const { pay, ran } = aPayment({
    invoke: async () => ({
      kind: 'done',
      data: { receipt: 7, at: new Date(0), nothing: undefined },
      content: [text('Paid.')],
      fetchedAt: '2026-01-01T00:00:00Z',
    }),
  })
  const { govern } = aPipeline()
  const first = aCall({ capability: pay, idempotencyKey: 'k' })
  const second = aCall({ capability: pay, idempotencyKey: 'k' })

  const answer = await govern(first)
  const replayed = await govern(second)

  expect(ran).toHaveLength(1)
  expect(toText(replayed, second.id)).toBe(toText(answer, first.id))
  expect(replayed).toMatchObject({
    callId: first.id,
    notices: [{ about: 'replayed', data: { call: first.id } }],
  })
})

test('a budget notice is replayed with its answer', async () => {
  const budget = { id: 'b', unit: 'calls', limit: 1, per: 'caller', window: 'day' } as const
  const thresholds = { alert: 80, reauthorise: 100, stop: 120 }
  const { pay } = aPayment({ rules: { budgets: [{ ...budget, thresholds }] } })
  const { govern } = aPipeline()
  const first = aCall({ capability: pay, idempotencyKey: 'k' })
  const second = aCall({ capability: pay, idempotencyKey: 'k' })

  const answer = await govern(first)
  const replayed = await govern(second)

  expect(toText(answer, first.id)).toContain('Budget:')
  expect(toText(replayed, second.id)).toBe(toText(answer, first.id))
})

/** Two JSON texts, and whether they count as the same arguments. */
const spellings: readonly [why: string, one: string, other: string, same: boolean][] = [
  ['the order of keys', '{"a":1,"b":2}', '{"b":2,"a":1}', true],
  [
    'the order of keys further down',
    '{"x":{"a":1,"b":[{"c":1,"d":2}]}}',
    '{"x":{"b":[{"d":2,"c":1}],"a":1}}',
    true,
  ],
  ['spaces', '{"a":[1,2]}', ' { "a" : [ 1 , 2 ] } ', true],
  ['1 and 1.0', '{"a":1}', '{"a":1.0}', true],
  ['1 and 1e0', '{"a":1}', '{"a":1e0}', true],
  ['0.1 and 1e-1', '{"a":0.1}', '{"a":1e-1}', true],
  ['0 and -0', '{"a":0}', '{"a":-0}', true],
  ['digits beyond double precision', '{"a":0.1}', '{"a":0.1000000000000000055}', true],
  ['an escape and its character', '{"a":"é"}', '{"a":"\\u00e9"}', true],
  ['an escaped slash', '{"a":"/"}', '{"a":"\\/"}', true],
  ['a pair of surrogates and its character', '{"a":"😀"}', '{"a":"\\ud83d\\ude00"}', true],
  ['a duplicate key: the last one wins', '{"a":2}', '{"a":1,"a":2}', true],
  ['composed and decomposed letters', '{"a":"\\u00e9"}', '{"a":"e\\u0301"}', false],
  ['composed and decomposed keys', '{"\\u00e9":1}', '{"e\\u0301":1}', false],
  ['absent and null', '{}', '{"note":null}', false],
  ['absent and the default', '{}', '{"unit":"EUR"}', false],
  ['absent and empty', '{}', '{"list":[]}', false],
  ['a number and its text', '{"a":1}', '{"a":"1"}', false],
  ['the order of a list', '{"a":[1,2]}', '{"a":[2,1]}', false],
  ['upper and lower case', '{"a":"x"}', '{"a":"X"}', false],
  ['a space in a text', '{"a":"x"}', '{"a":"x "}', false],
  ['true and 1', '{"a":true}', '{"a":1}', false],
  ['adjacent doubles', '{"a":9007199254740992}', '{"a":9007199254740994}', false],
  ['__proto__ as a name', '{}', '{"__proto__":{"a":1}}', false],
  ['toJSON as a name', '{"toJSON":"a"}', '{"toJSON":"b"}', false],
]

/** Calls a capability with two argument texts under one key. */
async function callTwice(
  { govern }: ReturnType<typeof aPipeline>,
  firstText: string,
  secondText: string,
) {
  const { pay, ran } = aPayment({
    input: aContract({ type: 'object', properties: { unit: { type: 'string', default: 'EUR' } } }),
  })
  const key = `key-${keys++}`
  const capability = { ...pay, name: `pay_${key}` }
  await govern(aCall({ capability, idempotencyKey: key, input: JSON.parse(firstText) }))
  const second = await govern(
    aCall({ capability, idempotencyKey: key, input: JSON.parse(secondText) }),
  )
  return { word: verdictOf(second), ran: ran.length }
}
let keys = 0

test.each(spellings)(
  'arguments are compared as sent, in canonical form: %s',
  async (_, firstText, secondText, same) => {
    const word = same ? 'done' : 'idempotency_conflict'
    expect(await callTwice(aPipeline(), firstText, secondText)).toEqual({ word, ran: 1 })
  },
)

const spellingCount = amount(60, 250)

test(`${spellingCount} respelled arguments count as the same`, async () => {
  const pipeline = aPipeline()
  const respelledPairs = fc
    .tuple(jsonArguments, fc.infiniteStream(fc.nat()))
    .map(([value, numbers]) => [JSON.stringify(value), respell(value, numbers)] as const)
  await fc.assert(
    fc.asyncProperty(respelledPairs, async ([firstText, secondText]) => {
      expect(await callTwice(pipeline, firstText, secondText)).toEqual({ word: 'done', ran: 1 })
    }),
    { numRuns: spellingCount, seed: 2026 },
  )
})

test(`${spellingCount} arguments that differ in one place are a conflict`, async () => {
  const pipeline = aPipeline()
  const pairs = fc
    .tuple(jsonArguments, jsonString, fc.nat())
    .map(([value, name, choice]) => [value, changeOnePlace(value, name, choice)] as const)
  await fc.assert(
    fc.asyncProperty(pairs, async ([one, other]) => {
      const word = 'idempotency_conflict'
      const [first, second] = [JSON.stringify(one), JSON.stringify(other)]
      expect(await callTwice(pipeline, first, second)).toEqual({ word, ran: 1 })
    }),
    { numRuns: spellingCount, seed: 2026 },
  )
})

const jsonString = fc.string({ unit: 'grapheme' })
const jsonArguments = fc.dictionary(
  jsonString,
  fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
  {
    maxKeys: 5,
  },
)

/** Writes the same JSON with shuffled keys, exponents, escapes and extra spaces. */
function respell(value: unknown, numbers: Iterator<number>): string {
  const nextBelow = (bound: number) => (numbers.next().value ?? 0) % bound
  const space = () => ' '.repeat(nextBelow(3))
  if (typeof value === 'number') return nextBelow(2) === 0 ? value.toExponential() : String(value)
  if (typeof value === 'string')
    return `"${[...Array(value.length).keys()].map((at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
  if (Array.isArray(value))
    return `[${space()}${value.map((item) => respell(item, numbers)).join(` ,${space()}`)}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(
    ([key, item]) => `${respell(key, numbers)}${space()}:${respell(item, numbers)}`,
  )
  for (let at = parts.length - 1; at > 0; at--) {
    const other = nextBelow(at + 1)
    ;[parts[at], parts[other]] = [parts[other] as string, parts[at] as string]
  }
  return `{${space()}${parts.join(`,${space()}`)}${space()}}`
}

function changeOnePlace(value: Record<string, unknown>, name: string, choice: number) {
  const changes: readonly ((one: unknown) => unknown)[] = [
    (one) => (one === null ? 0 : null),
    (one) => [one],
    (one) => (typeof one === 'number' ? one + (Math.abs(one) || 1) : `${JSON.stringify(one)} `),
    (one) => ({ [name]: one }),
  ]
  const names = Object.keys(value)
  const changedName = names[choice % (names.length + 1)]
  if (changedName === undefined) {
    const addedName = Object.hasOwn(value, name) ? `${name}+` : name
    return { ...value, [addedName]: null }
  }
  const change = changes[choice % changes.length] as (one: unknown) => unknown
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === changedName ? change(one) : one]),
  )
}

test.each([
  ['an unpaired surrogate', '{"a":"\\ud800"}'],
  ['a number above the double range', '{"a":1e999}'],
])(
  'arguments without a canonical form are refused before the call runs: %s',
  async (_, inputText) => {
    const { pay, ran } = aPayment()
    const { govern, readAudit } = aPipeline()

    const outcome = await govern(
      aCall({ capability: pay, idempotencyKey: 'k', input: JSON.parse(inputText) }),
    )

    expect(verdictOf(outcome)).toBe('invalid_input')
    expect(ran).toEqual([])
    expect(await readAudit()).toMatchObject([{ event: 'end', code: 'invalid_input' }])
  },
)

test.each([
  ['one second before 24 hours', day - second, 'done', 1],
  ['one second after 24 hours', day + second, 'done', 2],
])('a key is remembered for 24 hours: %s', async (_, elapsedMs, word, runs) => {
  const { pay, ran } = aPayment()
  const clock = aClock()
  const { govern } = aPipeline({ now: clock.now })
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  clock.pass(elapsedMs)
  const outcome = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect(verdictOf(outcome)).toBe(word)
  expect(ran).toHaveLength(runs)
})

test('keys are separate per caller', async () => {
  const { pay, ran } = aPayment({ invoke: async ({ caller }) => done({ for: caller.subject }) })
  const { govern } = aPipeline()
  const callers = Array.from({ length: 50 }, (_, index) => `caller-${index}`)

  const outcomes = await Promise.all(
    callers.map((subject) =>
      govern(aCall({ capability: pay, idempotencyKey: 'k', caller: { ...aCaller(), subject } })),
    ),
  )

  expect(outcomes.map((outcome) => (outcome as Done).data)).toEqual(
    callers.map((subject) => ({ for: subject })),
  )
  expect(ran).toHaveLength(50)
})

test('keys are separate per capability', async () => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()

  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  await govern(aCall({ capability: { ...pay, name: 'refund' }, idempotencyKey: 'k' }))

  expect(ran).toHaveLength(2)
})

test.each([
  ['one character', 'k', 'done'],
  ['255 characters', 'k'.repeat(255), 'done'],
  ['256 characters', 'k'.repeat(256), 'idempotency_key_required'],
  ['zero characters', '', 'idempotency_key_required'],
])('a key length of %s is accepted or refused', async (_, key, word) => {
  const { pay, ran } = aPayment()
  const outcome = await aPipeline().govern(aCall({ capability: pay, idempotencyKey: key }))
  expect(verdictOf(outcome)).toBe(word)
  expect(ran).toHaveLength(word === 'done' ? 1 : 0)
})

test('a call without a required key is refused with instructions and does not run', async () => {
  const { pay, ran } = aPayment({ rules: { idempotencyKey: true } })
  const outcome = await aPipeline().govern(aCall({ capability: pay }))
  expect(outcome).toMatchObject({
    failure: {
      code: 'idempotency_key_required',
      message: expect.stringContaining('idempotency_key'),
      retryable: true,
    },
  })
  expect(ran).toEqual([])
})

test.each([
  ['the request', { idempotencyKey: 'k', input: { order: 1 } }],
  ['the argument', { input: { order: 1, idempotency_key: 'k' } }],
  ['the transport', { transportKey: 'k', input: { order: 1 } }],
  [
    'all of them',
    { idempotencyKey: 'k', transportKey: 'k', input: { order: 1, idempotency_key: 'k' } },
  ],
])('a key is taken from %s', async (_, parts) => {
  const { pay, ran } = aPayment({ rules: { idempotencyKey: true } })
  await aPipeline().govern(aCall({ capability: pay, ...parts }))
  expect(ran).toMatchObject([{ idempotencyKey: 'k', input: { order: 1 } }])
})

test.each([
  ['request and argument', { idempotencyKey: 'a', input: { idempotency_key: 'b' } }],
  ['request and transport', { idempotencyKey: 'a', transportKey: 'b' }],
  ['argument and transport', { transportKey: 'a', input: { idempotency_key: 'b' } }],
])('different keys in %s are refused', async (_, parts) => {
  const { pay, ran } = aPayment({ rules: { idempotencyKey: true } })
  const outcome = await aPipeline().govern(aCall({ capability: pay, ...parts }))
  expect(verdictOf(outcome)).toBe('idempotency_conflict')
  expect(ran).toEqual([])
})

test('an idempotency_key argument is passed through when no key is required', async () => {
  const { pay, ran } = aPayment()
  await aPipeline().govern(aCall({ capability: pay, input: { idempotency_key: 'mine' } }))
  expect(ran).toMatchObject([{ idempotencyKey: undefined, input: { idempotency_key: 'mine' } }])
})

test('reads ignore keys and are never replayed', async () => {
  const { pay, ran } = aPayment({ effects: { ...movesMoney, writes: false } })
  const { govern } = aPipeline()
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  expect(ran).toHaveLength(2)
})

test('invalid arguments consume no key', async () => {
  const { pay, ran } = aPayment({ input: aContract(z.object({ amount: z.number() })) })
  const { govern } = aPipeline()

  const refusal = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 'ten' } }),
  )
  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 10 } }),
  )

  expect([verdictOf(refusal), verdictOf(outcome)]).toEqual(['invalid_input', 'done'])
  expect(ran).toHaveLength(1)
})

test('a missing permission consumes no key', async () => {
  const { pay } = aPayment({ rules: { permissions: ['money:move'] } })
  const { govern } = aPipeline()

  const refusal = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }),
  )
  const caller = aCaller(['money:move'])
  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 2 }, caller }),
  )

  expect([verdictOf(refusal), verdictOf(outcome)]).toEqual(['insufficient_scope', 'done'])
})

test('pending and denied approvals consume no key', async () => {
  const { pay, ran } = aPayment({ rules: { approval: true } })
  const { govern, ledger } = aPipeline()
  const approvalsApi = new Approvals(ledger)
  const call = (amount: number) =>
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount } })

  const missing = await govern(call(1))
  await approvalsApi.decide(String(detailsOf(missing).approval), 'denied', 'eve')
  const denied = await govern(call(1))
  const other = await govern(call(2))
  await approvalsApi.decide(String(detailsOf(other).approval), 'approved', 'eve')
  const outcome = await govern(call(2))

  expect([missing, denied, other, outcome].map(verdictOf)).toEqual([
    'approval_required',
    'approval_denied',
    'approval_required',
    'done',
  ])
  expect(ran).toHaveLength(1)
})

test('budget and rate refusals consume no key', async () => {
  const clock = aClock()
  const budget = { id: 'b', unit: 'calls', limit: 1, per: 'caller', window: 'day' } as const
  const thresholds = { alert: 100, reauthorise: 100, stop: 100 }
  const { pay } = aPayment({
    rules: {
      budgets: [{ ...budget, thresholds }],
      rates: [{ id: 'r', calls: 2, seconds: 60 }],
    },
  })
  const { govern } = aPipeline({ now: clock.now })
  const call = (key: string, amount: number) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount } }))

  await call('first', 1)
  const overBudget = await call('k', 2)
  const overRate = await call('k', 3)
  clock.pass(day)
  const outcome = await call('k', 4)

  expect([overBudget, overRate, outcome].map(verdictOf)).toEqual([
    'budget_exceeded',
    'rate_limited',
    'done',
  ])
})

test('a fingerprint mismatch consumes no key', async () => {
  const { pay } = aPayment()
  const { govern } = aPipeline()
  const refusal = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', expectedFingerprint: 'f0' }),
  )
  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 2 } }),
  )
  expect([verdictOf(refusal), verdictOf(outcome)]).toEqual(['definition_changed', 'done'])
})

test('a key reused with other arguments is a conflict that names the original call', async () => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()
  const first = aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } })
  await govern(first)

  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 2 } }),
  )

  expect(outcome).toMatchObject({
    failure: { code: 'idempotency_conflict', details: { call: first.id }, retryable: false },
  })
  expect(ran).toHaveLength(1)
})

/** Starts a run that ends only when it is released. */
async function aRunInFlight(parts: PipelineParts & { readonly key?: string } = {}) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const { pay, ran } = aPayment({
    rules: { timeout: 20_000 },
    invoke: async () => {
      await released
      return done({ receipt: 1 })
    },
  })
  const pipeline = aPipeline(parts)
  const call = aCall({ capability: pay, idempotencyKey: parts.key, input: { amount: 1 } })
  const outcome = pipeline.govern(call)
  await vi.waitUntil(() => ran.length === 1, { interval: 1 })
  return { ...pipeline, pay, ran, call, outcome, release }
}

test('a repeated call gets in_progress with a retry hint while the first runs, then its answer', async () => {
  const { pay, ran, govern, call, outcome, release } = await aRunInFlight({ key: 'k' })
  const repeat = () => govern(aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }))

  const duringRun = await repeat()
  release()
  const answer = await outcome
  const afterRun = await repeat()

  expect(duringRun).toMatchObject({
    failure: {
      code: 'in_progress',
      retryable: true,
      details: { call: call.id, retry_after_ms: expect.any(Number) },
    },
  })
  expect((afterRun as Done).data).toEqual((answer as Done).data)
  expect(ran).toHaveLength(1)
})

test('after a crash, the key reports outcome_unknown permanently and nothing reruns', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const clock = aClock()
  const { pay, ran, call } = await aRunInFlight({ file, now: clock.now, key: 'k' })
  const restarted = aPipeline({ file, now: clock.now, isAlive: () => false })
  const repeat = (key: string | undefined) =>
    restarted.govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))

  const firstRepeat = await repeat('k')
  clock.pass(30 * day)
  const afterAMonth = await repeat('k')
  const otherKey = await repeat('another')
  const noKey = await repeat(undefined)

  expect(firstRepeat).toMatchObject({
    failure: {
      code: 'outcome_unknown',
      retryable: false,
      details: { call: call.id },
      message: expect.stringContaining(`drawbridge runs settle ${call.id}`),
    },
  })
  expect(verdictOf(afterAMonth)).toBe('outcome_unknown')
  expect(detailsOf(otherKey)).toMatchObject({ call: call.id, state: 'unknown' })
  expect([verdictOf(otherKey), verdictOf(noKey)]).toEqual([
    'possible_duplicate',
    'possible_duplicate',
  ])
  expect(ran).toHaveLength(1)
})

test('a restarted process with the PID of the crashed one does not adopt its run', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const { pay } = await aRunInFlight({ file, key: 'k' })
  // PID reuse: in a container the restarted process has the same PID, so isAlive is true.
  const restarted = aPipeline({ file, isAlive: () => true })

  const outcome = await restarted.govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }),
  )

  expect(verdictOf(outcome)).toBe('outcome_unknown')
})

test.each([
  ['took effect', 'done' as const, 'done', 'took effect', 0],
  ['did not take effect', 'failed' as const, 'outcome_unknown', 'did not take effect', 1],
])(
  'settling a run that %s makes its key return that result',
  async (_, state, verdict, message, runs) => {
    const file = path.join(await aProject({}), 'ledger.db')
    const { pay, ran, call } = await aRunInFlight({ file, key: 'k' })
    const clock = aClock(Date.now())
    const { govern, ledger, readAudit } = aPipeline({ file, now: clock.now, isAlive: () => false })
    const runsBefore = ran.length

    const settlement = await settleRun(ledger, call.id, state, { by: 'eve', at: clock.now() })
    const sameKey = await govern(
      aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }),
    )
    const secondSettlement = await settleRun(ledger, call.id, state, { by: 'eve', at: clock.now() })
    const nonBlocking = { ...pay, invoke: async () => done({ receipt: 2 }) }
    const rerun = await govern(aCall({ capability: nonBlocking, input: { amount: 1 } }))

    expect(settlement).toMatchObject({ id: call.id, state })
    expect(verdictOf(sameKey)).toBe(verdict)
    expect(JSON.stringify(sameKey)).toContain(message)
    expect(secondSettlement).toEqual({ fault: expect.stringContaining('nothing to settle') })
    // A run settled as done still counts for duplicate detection; a failed one does not.
    expect(verdictOf(rerun)).toBe(runs === 1 ? 'done' : 'possible_duplicate')
    expect(ran).toHaveLength(runsBefore)
    expect(await readAudit()).toContainEqual(
      expect.objectContaining({ event: 'settled', id: call.id, outcome: state, by: 'eve' }),
    )
  },
)

test('running, completed and nonexistent runs cannot be settled', async () => {
  const { ledger, call, outcome, release } = await aRunInFlight({ key: 'k' })
  const settle = (id: string) => settleRun(ledger, id, 'failed', { by: 'eve', at: 0 })

  const running = await settle(call.id)
  release()
  await outcome
  const finished = await settle(call.id)

  expect(running).toEqual({ fault: expect.stringContaining('is running') })
  expect(finished).toEqual({ fault: expect.stringContaining('is done') })
  expect(await settle('nothing')).toEqual({ fault: 'There is no run nothing.' })
})

test('unknown runs are listed regardless of later activity', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const clock = aClock()
  const { call } = await aRunInFlight({ file, now: clock.now, key: 'k' })
  const { govern, ledger } = aPipeline({ file, now: clock.now, isAlive: () => false })
  const { pay } = aPayment()
  clock.pass(second)
  await Promise.all(
    Array.from({ length: 200 }, (_, order) => govern(aCall({ capability: pay, input: { order } }))),
  )

  const unknown = ledger.read.runs('unknown', 100)

  expect(unknown.map(({ id }) => id)).toEqual([call.id])
  expect(ledger.read.runs('done', 300)).toHaveLength(200)
  expect(ledger.read.runs(undefined, 10)).toHaveLength(10)
})

test('identical arguments under a new key within a minute are a possible duplicate, and insist_with runs them once', async () => {
  const clock = aClock()
  const { pay, ran } = aPayment()
  const { govern } = aPipeline({ now: clock.now })
  const call = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))
  await call('one')
  const first = ran[0]

  clock.pass(59 * second)
  const duplicate = await call('two')
  const insistKey = String(detailsOf(duplicate).insist_with)
  const insistedOutcome = await call(insistKey)
  const insistedRepeat = await call(insistKey)
  const keyless = await call()

  expect(duplicate).toMatchObject({
    failure: {
      code: 'possible_duplicate',
      message: expect.stringContaining(insistKey),
      details: { call: first?.id, state: 'done' },
    },
  })
  expect([insistedOutcome, insistedRepeat, keyless].map(verdictOf)).toEqual([
    'done',
    'done',
    'possible_duplicate',
  ])
  expect(detailsOf(keyless).call).toBe(ran[1]?.id)
  expect(ran).toHaveLength(2)
})

test.each([
  [true, 'call again with idempotency_key again-'],
  [false, 'No argument can confirm'],
])(
  'with the key as an argument (%s), the duplicate message names the insist key only then',
  async (idempotencyKey, words) => {
    const { pay } = aPayment()
    const { govern } = aPipeline()
    const keyed = { ...pay, rules: { ...pay.rules, idempotencyKey } }
    const call = (input: object) =>
      govern(aCall({ capability: keyed, input: { amount: 1, ...input } }))
    const key = (value: string) => (idempotencyKey ? { idempotency_key: value } : {})
    await call(key('one'))

    const duplicate = await call(key('two'))

    expect(duplicate).toMatchObject({ failure: { message: expect.stringContaining(words) } })
    if (idempotencyKey)
      expect(verdictOf(await call(key(String(detailsOf(duplicate).insist_with))))).toBe('done')
  },
)

test('identical arguments after the window are a new call', async () => {
  const clock = aClock()
  const { pay, ran } = aPayment()
  const { govern } = aPipeline({ now: clock.now })
  const call = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))
  await call('one')

  clock.pass(60 * second)
  const outcome = await call('two')

  expect(verdictOf(outcome)).toBe('done')
  expect(ran).toHaveLength(2)
})

test.each([
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
  ['other arguments', { input: { amount: 2 } }],
])('a call with %s is not a duplicate', async (_, parts) => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()
  await govern(aCall({ capability: pay, input: { amount: 1 } }))
  await govern(aCall({ capability: pay, input: { amount: 1 }, ...parts }))
  expect(ran).toHaveLength(2)
})

test('repeatable effects and a zero duplicate window allow repeats', async () => {
  const repeatable = aPayment({ effects: { ...movesMoney, repeatable: true } })
  const payment = aPayment()
  const strict = aPipeline()
  const withoutWindow = aPipeline({ settings: { windows: { keyMs: day, duplicateMs: 0 } } })
  for (let time = 0; time < 3; time++) {
    await strict.govern(aCall({ capability: repeatable.pay }))
    await withoutWindow.govern(aCall({ capability: payment.pay }))
  }
  expect([repeatable.ran.length, payment.ran.length]).toEqual([3, 3])
})

test('identical arguments under another key do not run while the first runs, unless the caller insists', async () => {
  const { pay, ran, govern, call, release } = await aRunInFlight({ key: 'one' })
  const callAgain = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))

  const duplicates = await Promise.all([callAgain('two'), callAgain('three'), callAgain()])
  const insistedOutcome = callAgain(`again-${call.id}`)
  release()

  expect(duplicates.map(verdictOf)).toEqual(Array(3).fill('possible_duplicate'))
  expect(detailsOf(duplicates[0] as Outcome)).toMatchObject({ state: 'running', call: call.id })
  expect(verdictOf(await insistedOutcome)).toBe('done')
  expect(ran).toHaveLength(2)
})

test('50 concurrent keys for one payment pay once', async () => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()
  const keys = Array.from({ length: 50 }, (_, index) => `attempt-${index}`)

  const outcomes = await Promise.all(
    keys.map((key) =>
      govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } })),
    ),
  )

  expect(countVerdicts(outcomes)).toEqual({ done: 1, possible_duplicate: 49 })
  expect(ran).toHaveLength(1)
})

test('a certain failure is replayed for its key and can be retried under another', async () => {
  const declined: Outcome = {
    kind: 'failed',
    failure: {
      code: 'card_declined',
      fixedBy: 'model',
      message: 'The card was declined.',
      retryable: false,
      cause: 'postgres://user:password@host',
    },
  }
  const { pay, ran } = aPayment({ invoke: async () => declined })
  const { govern } = aPipeline()
  const call = async (key: string) => {
    const one = aCall({ capability: pay, idempotencyKey: key })
    const outcome = await govern(one)
    return { outcome, text: toText(outcome, one.id) }
  }

  const first = await call('one')
  const replayed = await call('one')
  const otherKey = await call('two')

  expect(replayed.text).toBe(first.text)
  expect(JSON.stringify(replayed.outcome)).not.toContain('password')
  expect(replayed.outcome).toMatchObject({ notices: [{ about: 'replayed' }] })
  expect(verdictOf(otherKey.outcome)).toBe('card_declined')
  expect(ran).toHaveLength(2)
})

test.each([
  ['times out', { timeout: 5 }, () => new Promise<never>(() => {}), 'timed_out'],
  [
    'reports outcome_unknown',
    {},
    async () => refused('outcome_unknown', 'The line broke.'),
    'outcome_unknown',
  ],
  [
    'throws like a broken connection',
    {},
    async () => {
      throw new TypeError('fetch failed')
    },
    'internal',
  ],
])(
  'a capability that %s has an unknown outcome and is not rerun',
  async (_, rules, invoke, word) => {
    const { pay, ran } = aPayment({ rules, invoke })
    const { govern, ledger } = aPipeline()
    const call = (key?: string) => govern(aCall({ capability: pay, idempotencyKey: key }))

    const outcome = await call('k')
    const repeat = await call('k')
    const other = await call('other')

    expect([outcome, repeat, other].map(verdictOf)).toEqual([
      word,
      'outcome_unknown',
      'possible_duplicate',
    ])
    expect(ledger.read.runs('unknown', 10)).toHaveLength(1)
    expect(ran).toHaveLength(1)
  },
)

test.each([
  ['is too large', { text: 'x'.repeat(20_000) }, 'result_too_large'],
  ['breaks its output schema', { receipt: 'none' }, 'invalid_output'],
])('an effect whose result %s is not repeated', async (_, data, word) => {
  const output = aContract(
    z.object({ receipt: z.number().optional(), text: z.string().optional() }),
    'output',
  )
  const { pay, ran } = aPayment({ output, invoke: async () => done(data) })
  const { govern } = aPipeline()
  const call = (key?: string) => govern(aCall({ capability: pay, idempotencyKey: key }))

  const outcomes = [await call('k'), await call('k'), await call()]

  expect(outcomes.map(verdictOf)).toEqual([word, word, 'possible_duplicate'])
  expect(ran).toHaveLength(1)
})

test('a call cancelled before it starts consumes no key', async () => {
  const { pay, ran } = aPayment()
  const { govern, ledger } = aPipeline()
  const call = aCall({ capability: pay, idempotencyKey: 'k' })

  const pending = govern(call)
  call.cancellation.cancel('The client left.')
  const cancelled = await pending
  const repeat = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect([verdictOf(cancelled), verdictOf(repeat)]).toEqual(['cancelled', 'done'])
  expect(ledger.read.runs('unknown', 10)).toEqual([])
  expect(ran).toHaveLength(1)
})

test('a call cancelled while running has an unknown outcome', async () => {
  const { pay, ran, govern, call, outcome } = await aRunInFlight({ key: 'k' })

  call.cancellation.cancel('The client left.')
  const cancelled = await outcome
  const repeat = await govern(aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }))

  expect([verdictOf(cancelled), verdictOf(repeat)]).toEqual(['cancelled', 'outcome_unknown'])
  expect(ran).toHaveLength(1)
})
