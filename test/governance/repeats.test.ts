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
import { aPayment, countWords, detailsOf, movesMoney, wordOf } from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCaller, aContract, aPipeline, type PipelineParts } from '../support/builders.ts'

const keysAtOnce = amount(40, 200)

test(`${keysAtOnce} keys, each called 50 times at once, run ${keysAtOnce} times, and every answer is the one answer or "in progress"`, async () => {
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

  const began = performance.now()
  const answers = await Promise.all(keys.flatMap((key) => Array(50).fill(key)).map(callOnce))
  const took = performance.now() - began
  const repeated = await Promise.all(keys.map(callOnce))

  expect(answers).toHaveLength(50 * keysAtOnce)
  expect(ran).toHaveLength(keysAtOnce)
  expect(new Set(ran.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(keysAtOnce)
  const texts = new Map<string, Set<string>>()
  for (const { key, id, outcome } of [...answers, ...repeated]) {
    if (wordOf(outcome) === 'in_progress') continue
    texts.set(key, (texts.get(key) ?? new Set()).add(toText(outcome, id)))
  }
  expect([...texts.values()].map((set) => set.size)).toEqual(Array(keysAtOnce).fill(1))
  expect(countWords(repeated.map(({ outcome }) => outcome))).toEqual({ done: keysAtOnce })
  const words = countWords(answers.map(({ outcome }) => outcome))
  expect(Object.keys(words).filter((word) => !['done', 'in_progress'].includes(word))).toEqual([])
  console.info(
    `G1: ${answers.length} calls in ${Math.round(took)} ms, ${ran.length} runs, ${JSON.stringify(words)}`,
  )
  await ledger.close()
})

/** As it goes over the wire, less the mark that says so. */
function toText(outcome: Outcome, id: string): string {
  const { _meta, ...result } = toResult(outcome as Done | Failed, id)
  const { [resultMeta.replayed]: _, ...meta } = _meta ?? {}
  return JSON.stringify({ ...result, _meta: meta })
}

test('what was done under a key is answered from memory, word for word, and marked', async () => {
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
  const again = aCall({ capability: pay, idempotencyKey: 'k' })

  const answer = await govern(first)
  const replayed = await govern(again)

  expect(ran).toHaveLength(1)
  expect(toText(replayed, again.id)).toBe(toText(answer, first.id))
  expect(replayed).toMatchObject({
    callId: first.id,
    notices: [{ about: 'replayed', data: { call: first.id } }],
  })
})

test('an answer that came with a budget notice is replayed with it', async () => {
  const budget = { id: 'b', unit: 'calls', limit: 1, per: 'caller', window: 'day' } as const
  const thresholds = { alert: 80, reauthorise: 100, stop: 120 }
  const { pay } = aPayment({ rules: { budgets: [{ ...budget, thresholds }] } })
  const { govern } = aPipeline()
  const first = aCall({ capability: pay, idempotencyKey: 'k' })
  const again = aCall({ capability: pay, idempotencyKey: 'k' })

  const answer = await govern(first)
  const replayed = await govern(again)

  expect(toText(answer, first.id)).toContain('Budget:')
  expect(toText(replayed, again.id)).toBe(toText(answer, first.id))
})

/** Two ways to write arguments, and whether they are the same arguments. */
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
  ['digits beyond what a double holds', '{"a":0.1}', '{"a":0.1000000000000000055}', true],
  ['an escape and its character', '{"a":"é"}', '{"a":"\\u00e9"}', true],
  ['an escaped slash', '{"a":"/"}', '{"a":"\\/"}', true],
  ['a pair of surrogates and its character', '{"a":"😀"}', '{"a":"\\ud83d\\ude00"}', true],
  ['a key twice: the last one counts', '{"a":2}', '{"a":1,"a":2}', true],
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
  ['what lies between two doubles', '{"a":9007199254740992}', '{"a":9007199254740994}', false],
  ['__proto__ as a name', '{}', '{"__proto__":{"a":1}}', false],
  ['toJSON as a name', '{"toJSON":"a"}', '{"toJSON":"b"}', false],
]

/** Calls with one and the same key: first like this, then like that. */
async function callTwice({ govern }: ReturnType<typeof aPipeline>, one: string, other: string) {
  const { pay, ran } = aPayment({
    input: aContract({ type: 'object', properties: { unit: { type: 'string', default: 'EUR' } } }),
  })
  const key = `key-${keys++}`
  const capability = { ...pay, name: `pay_${key}` }
  await govern(aCall({ capability, idempotencyKey: key, input: JSON.parse(one) }))
  const second = await govern(aCall({ capability, idempotencyKey: key, input: JSON.parse(other) }))
  return { word: wordOf(second), ran: ran.length }
}
let keys = 0

test.each(spellings)(
  'arguments are compared as sent, in canonical form: %s',
  async (_, one, other, same) => {
    const word = same ? 'done' : 'idempotency_conflict'
    expect(await callTwice(aPipeline(), one, other)).toEqual({ word, ran: 1 })
  },
)

const spellingCount = amount(60, 250)

test(`${spellingCount} arguments in another spelling are the same arguments`, async () => {
  const pipeline = aPipeline()
  const respelled = fc
    .tuple(someArguments, fc.infiniteStream(fc.nat()))
    .map(([value, dice]) => [JSON.stringify(value), respell(value, dice)] as const)
  await fc.assert(
    fc.asyncProperty(respelled, async ([one, other]) => {
      expect(await callTwice(pipeline, one, other)).toEqual({ word: 'done', ran: 1 })
    }),
    { numRuns: spellingCount, seed: 2026 },
  )
})

test(`${spellingCount} arguments that differ in one place are a conflict`, async () => {
  const pipeline = aPipeline()
  const different = fc
    .tuple(someArguments, letters, fc.nat())
    .map(([value, name, dice]) => [value, changeOnePlace(value, name, dice)] as const)
  await fc.assert(
    fc.asyncProperty(different, async ([one, other]) => {
      const word = 'idempotency_conflict'
      const [first, second] = [JSON.stringify(one), JSON.stringify(other)]
      expect(await callTwice(pipeline, first, second)).toEqual({ word, ran: 1 })
    }),
    { numRuns: spellingCount, seed: 2026 },
  )
})

const letters = fc.string({ unit: 'grapheme' })
const someArguments = fc.dictionary(
  letters,
  fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }),
  {
    maxKeys: 5,
  },
)

/** The same JSON: keys shuffled, numbers with exponents, letters escaped, spaces strewn in. */
function respell(value: unknown, dice: Iterator<number>): string {
  const roll = (sides: number) => (dice.next().value ?? 0) % sides
  const space = () => ' '.repeat(roll(3))
  if (typeof value === 'number') return roll(2) === 0 ? value.toExponential() : String(value)
  if (typeof value === 'string')
    return `"${[...Array(value.length).keys()].map((at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`
  if (Array.isArray(value))
    return `[${space()}${value.map((item) => respell(item, dice)).join(` ,${space()}`)}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Object.entries(value).map(
    ([key, item]) => `${respell(key, dice)}${space()}:${respell(item, dice)}`,
  )
  for (let at = parts.length - 1; at > 0; at--) {
    const other = roll(at + 1)
    ;[parts[at], parts[other]] = [parts[other] as string, parts[at] as string]
  }
  return `{${space()}${parts.join(`,${space()}`)}${space()}}`
}

function changeOnePlace(value: Record<string, unknown>, name: string, dice: number) {
  const changes: readonly ((one: unknown) => unknown)[] = [
    (one) => (one === null ? 0 : null),
    (one) => [one],
    (one) => (typeof one === 'number' ? one + (Math.abs(one) || 1) : `${JSON.stringify(one)} `),
    (one) => ({ [name]: one }),
  ]
  const names = Object.keys(value)
  const place = names[dice % (names.length + 1)]
  if (place === undefined) {
    const added = Object.hasOwn(value, name) ? `${name}+` : name
    return { ...value, [added]: null }
  }
  const change = changes[dice % changes.length] as (one: unknown) => unknown
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, key === place ? change(one) : one]),
  )
}

test.each([
  ['half a pair of surrogates', '{"a":"\\ud800"}'],
  ['a number that no double holds', '{"a":1e999}'],
])(
  'arguments that have no canonical form are refused before anything happens: %s',
  async (_, given) => {
    const { pay, ran } = aPayment()
    const { govern, audited } = aPipeline()

    const outcome = await govern(
      aCall({ capability: pay, idempotencyKey: 'k', input: JSON.parse(given) }),
    )

    expect(wordOf(outcome)).toBe('invalid_input')
    expect(ran).toEqual([])
    expect(await audited()).toMatchObject([{ event: 'end', code: 'invalid_input' }])
  },
)

test.each([
  ['one second before 24 hours', day - second, 'done', 1],
  ['one second after 24 hours', day + second, 'done', 2],
])('a key is remembered for 24 hours: %s', async (_, later, word, runs) => {
  const { pay, ran } = aPayment()
  const clock = aClock()
  const { govern } = aPipeline({ now: clock.now })
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  clock.pass(later)
  const outcome = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect(wordOf(outcome)).toBe(word)
  expect(ran).toHaveLength(runs)
})

test('a key means nothing for another caller', async () => {
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

test('a key means nothing for another capability', async () => {
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
  ['no character', '', 'idempotency_key_required'],
])('a key of %s', async (_, key, word) => {
  const { pay, ran } = aPayment()
  const outcome = await aPipeline().govern(aCall({ capability: pay, idempotencyKey: key }))
  expect(wordOf(outcome)).toBe(word)
  expect(ran).toHaveLength(word === 'done' ? 1 : 0)
})

test('where a key is required, a call without one is told how to give it, and nothing happens', async () => {
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

test('a key comes from the request, else from the argument, else from the transport', async () => {
  const { pay, ran } = aPayment({ rules: { idempotencyKey: true } })
  const { govern } = aPipeline({ settings: { windows: { keyMs: day, duplicateMs: 0 } } })
  const input = { order: 1, idempotency_key: 'argument' }

  await govern(
    aCall({ capability: pay, idempotencyKey: 'request', transportKey: 'transport', input }),
  )
  await govern(aCall({ capability: pay, transportKey: 'transport', input }))
  await govern(aCall({ capability: pay, transportKey: 'transport', input: { order: 1 } }))

  expect(ran.map(({ idempotencyKey }) => idempotencyKey)).toEqual([
    'request',
    'argument',
    'transport',
  ])
  expect(ran.map((call) => call.input)).toEqual([{ order: 1 }, { order: 1 }, { order: 1 }])
})

test('an argument that only happens to be called idempotency_key belongs to the capability', async () => {
  const { pay, ran } = aPayment()
  await aPipeline().govern(aCall({ capability: pay, input: { idempotency_key: 'mine' } }))
  expect(ran).toMatchObject([{ key: undefined, input: { idempotency_key: 'mine' } }])
})

test('a read needs no key and is never answered from memory', async () => {
  const { pay, ran } = aPayment({ effects: { ...movesMoney, writes: false } })
  const { govern } = aPipeline()
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  await govern(aCall({ capability: pay, idempotencyKey: 'k' }))
  expect(ran).toHaveLength(2)
})

test('arguments that are not valid consume no key', async () => {
  const { pay, ran } = aPayment({ input: aContract(z.object({ amount: z.number() })) })
  const { govern } = aPipeline()

  const refusal = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 'ten' } }),
  )
  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 10 } }),
  )

  expect([wordOf(refusal), wordOf(outcome)]).toEqual(['invalid_input', 'done'])
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

  expect([wordOf(refusal), wordOf(outcome)]).toEqual(['insufficient_scope', 'done'])
})

test('a missing approval, a denied one and a granted one consume no key before the run', async () => {
  const { pay, ran } = aPayment({ rules: { approval: true } })
  const { govern, ledger } = aPipeline()
  const desk = new Approvals(ledger, Date.now)
  const call = (amount: number) =>
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount } })

  const unasked = await govern(call(1))
  await desk.decide(String(detailsOf(unasked).approval), 'denied', 'eve')
  const denied = await govern(call(1))
  const other = await govern(call(2))
  await desk.decide(String(detailsOf(other).approval), 'approved', 'eve')
  const outcome = await govern(call(2))

  expect([unasked, denied, other, outcome].map(wordOf)).toEqual([
    'approval_required',
    'approval_denied',
    'approval_required',
    'done',
  ])
  expect(ran).toHaveLength(1)
})

test('a budget that is used up and a rate that is too high consume no key', async () => {
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
  const poor = await call('k', 2)
  const fast = await call('k', 3)
  clock.pass(day)
  const outcome = await call('k', 4)

  expect([poor, fast, outcome].map(wordOf)).toEqual(['budget_exceeded', 'rate_limited', 'done'])
})

test('a definition that is not the expected one consumes no key', async () => {
  const { pay } = aPayment()
  const { govern } = aPipeline()
  const refusal = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', expectedFingerprint: 'f0' }),
  )
  const outcome = await govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 2 } }),
  )
  expect([wordOf(refusal), wordOf(outcome)]).toEqual(['definition_changed', 'done'])
})

test('a key that is used with other arguments names the call it belongs to, and runs nothing', async () => {
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

/** Something that has begun and does not end until it is let go. */
async function aRunUnderWay(parts: PipelineParts & { readonly key?: string } = {}) {
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const { pay, ran } = aPayment({
    rules: { timeout: 20_000 },
    invoke: async () => {
      await held
      return done({ receipt: 1 })
    },
  })
  const pipeline = aPipeline(parts)
  const call = aCall({ capability: pay, idempotencyKey: parts.key, input: { amount: 1 } })
  const outcome = pipeline.govern(call)
  await vi.waitUntil(() => ran.length === 1, { interval: 1 })
  return { ...pipeline, pay, ran, call, outcome, letGo }
}

test('while a call runs its key says so at once, with a hint, and later the answer', async () => {
  const { pay, ran, govern, call, outcome, letGo } = await aRunUnderWay({ key: 'k' })
  const again = () => govern(aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }))

  const meanwhile = await again()
  letGo()
  const answer = await outcome
  const later = await again()

  expect(meanwhile).toMatchObject({
    failure: {
      code: 'in_progress',
      retryable: true,
      details: { call: call.id, retry_after_ms: expect.any(Number) },
    },
  })
  expect((later as Done).data).toEqual((answer as Done).data)
  expect(ran).toHaveLength(1)
})

test('after a crash a key says that nobody knows, for ever, and nothing runs again', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const clock = aClock()
  const { pay, ran, call } = await aRunUnderWay({ file, now: clock.now, key: 'k' })
  const restarted = aPipeline({ file, now: clock.now, isAlive: () => false })
  const again = (key: string | undefined) =>
    restarted.govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))

  const next = await again('k')
  clock.pass(30 * day)
  const muchLater = await again('k')
  const otherKey = await again('another')
  const noKey = await again(undefined)

  expect(next).toMatchObject({
    failure: {
      code: 'outcome_unknown',
      retryable: false,
      details: { call: call.id },
      message: expect.stringContaining(`drawbridge runs settle ${call.id}`),
    },
  })
  expect(wordOf(muchLater)).toBe('outcome_unknown')
  expect(detailsOf(otherKey)).toMatchObject({ call: call.id, state: 'unknown' })
  expect([wordOf(otherKey), wordOf(noKey)]).toEqual(['possible_duplicate', 'possible_duplicate'])
  expect(ran).toHaveLength(1)
})

test('a process that comes back under the number of the one that crashed does not take itself for it', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const { pay } = await aRunUnderWay({ file, key: 'k' })
  // In a container the first process always has the same number, and it is alive: it is this one.
  const restarted = aPipeline({ file, isAlive: () => true })

  const outcome = await restarted.govern(
    aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }),
  )

  expect(wordOf(outcome)).toBe('outcome_unknown')
})

test.each([
  ['took effect', 'done' as const, 'done', 'took effect', 0],
  ['did not take effect', 'failed' as const, 'outcome_unknown', 'did not take effect', 1],
])(
  'an operator who finds out that it %s settles it, and the key answers that',
  async (_, state, word, words, runs) => {
    const file = path.join(await aProject({}), 'ledger.db')
    const { pay, ran, call } = await aRunUnderWay({ file, key: 'k' })
    const clock = aClock(Date.now())
    const { govern, ledger, audited } = aPipeline({ file, now: clock.now, isAlive: () => false })
    const before = ran.length

    const settled = await settleRun(ledger, call.id, state, { by: 'eve', at: clock.now() })
    const underKey = await govern(
      aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }),
    )
    const settledAgain = await settleRun(ledger, call.id, state, { by: 'eve', at: clock.now() })
    const free = { ...pay, invoke: async () => done({ receipt: 2 }) }
    const anew = await govern(aCall({ capability: free, input: { amount: 1 } }))

    expect(settled).toMatchObject({ id: call.id, state })
    expect(wordOf(underKey)).toBe(word)
    expect(JSON.stringify(underKey)).toContain(words)
    expect(settledAgain).toEqual({ fault: expect.stringContaining('nothing to settle') })
    // What took effect is done, and the same again looks like a mistake; what did not may be tried.
    expect(wordOf(anew)).toBe(runs === 1 ? 'done' : 'possible_duplicate')
    expect(ran).toHaveLength(before)
    expect(await audited()).toContainEqual(
      expect.objectContaining({ event: 'settled', id: call.id, outcome: state, by: 'eve' }),
    )
  },
)

test('what runs, is done or does not exist cannot be settled', async () => {
  const { ledger, call, outcome, letGo } = await aRunUnderWay({ key: 'k' })
  const settle = (id: string) => settleRun(ledger, id, 'failed', { by: 'eve', at: 0 })

  const running = await settle(call.id)
  letGo()
  await outcome
  const finished = await settle(call.id)

  expect(running).toEqual({ fault: expect.stringContaining('is running') })
  expect(finished).toEqual({ fault: expect.stringContaining('is done') })
  expect(await settle('nothing')).toEqual({ fault: 'There is no run nothing.' })
})

test('an operator finds what nobody knows the end of, however much happened since', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const clock = aClock()
  const { call } = await aRunUnderWay({ file, now: clock.now, key: 'k' })
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

test('the same arguments under a new key, within a minute, look like a mistake; saying so makes it run once more', async () => {
  const clock = aClock()
  const { pay, ran } = aPayment()
  const { govern } = aPipeline({ now: clock.now })
  const call = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))
  await call('one')
  const first = ran[0]

  clock.pass(59 * second)
  const doubt = await call('two')
  const insist = String(detailsOf(doubt).insist_with)
  const insisted = await call(insist)
  const insistedAgain = await call(insist)
  const keyless = await call()

  expect(doubt).toMatchObject({
    failure: {
      code: 'possible_duplicate',
      message: expect.stringContaining(insist),
      details: { call: first?.id, state: 'done' },
    },
  })
  expect([insisted, insistedAgain, keyless].map(wordOf)).toEqual([
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
  'where a key is an argument (%s), a doubt names it, and only there',
  async (idempotencyKey, words) => {
    const { pay } = aPayment()
    const { govern } = aPipeline()
    const keyed = { ...pay, rules: { ...pay.rules, idempotencyKey } }
    const call = (input: object) =>
      govern(aCall({ capability: keyed, input: { amount: 1, ...input } }))
    const key = (value: string) => (idempotencyKey ? { idempotency_key: value } : {})
    await call(key('one'))

    const doubt = await call(key('two'))

    expect(doubt).toMatchObject({ failure: { message: expect.stringContaining(words) } })
    if (idempotencyKey)
      expect(wordOf(await call(key(String(detailsOf(doubt).insist_with))))).toBe('done')
  },
)

test('after the window the same arguments are a new call', async () => {
  const clock = aClock()
  const { pay, ran } = aPayment()
  const { govern } = aPipeline({ now: clock.now })
  const call = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))
  await call('one')

  clock.pass(60 * second)
  const outcome = await call('two')

  expect(wordOf(outcome)).toBe('done')
  expect(ran).toHaveLength(2)
})

test.each([
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
  ['other arguments', { input: { amount: 2 } }],
])('the same call by %s is no mistake', async (_, parts) => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()
  await govern(aCall({ capability: pay, input: { amount: 1 } }))
  await govern(aCall({ capability: pay, input: { amount: 1 }, ...parts }))
  expect(ran).toHaveLength(2)
})

test('what may be repeated, and what a policy allows to be repeated, is no mistake', async () => {
  const repeatable = aPayment({ effects: { ...movesMoney, repeatable: true } })
  const allowed = aPayment()
  const strict = aPipeline()
  const lax = aPipeline({ settings: { windows: { keyMs: day, duplicateMs: 0 } } })
  for (let time = 0; time < 3; time++) {
    await strict.govern(aCall({ capability: repeatable.pay }))
    await lax.govern(aCall({ capability: allowed.pay }))
  }
  expect([repeatable.ran.length, allowed.ran.length]).toEqual([3, 3])
})

test('while the same arguments run under another key they do not run twice, unless somebody insists', async () => {
  const { pay, ran, govern, call, letGo } = await aRunUnderWay({ key: 'one' })
  const again = (key?: string) =>
    govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } }))

  const doubts = await Promise.all([again('two'), again('three'), again()])
  const insisted = again(`again-${call.id}`)
  letGo()

  expect(doubts.map(wordOf)).toEqual(Array(3).fill('possible_duplicate'))
  expect(detailsOf(doubts[0] as Outcome)).toMatchObject({ state: 'running', call: call.id })
  expect(wordOf(await insisted)).toBe('done')
  expect(ran).toHaveLength(2)
})

test('50 new keys for one and the same payment at once pay once', async () => {
  const { pay, ran } = aPayment()
  const { govern } = aPipeline()
  const keys = Array.from({ length: 50 }, (_, index) => `attempt-${index}`)

  const outcomes = await Promise.all(
    keys.map((key) =>
      govern(aCall({ capability: pay, idempotencyKey: key, input: { amount: 1 } })),
    ),
  )

  expect(countWords(outcomes)).toEqual({ done: 1, possible_duplicate: 49 })
  expect(ran).toHaveLength(1)
})

test('a failure that is certain is replayed under its key, and may be tried again under another', async () => {
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
  const anew = await call('two')

  expect(replayed.text).toBe(first.text)
  expect(JSON.stringify(replayed.outcome)).not.toContain('password')
  expect(replayed.outcome).toMatchObject({ notices: [{ about: 'replayed' }] })
  expect(wordOf(anew.outcome)).toBe('card_declined')
  expect(ran).toHaveLength(2)
})

test.each([
  ['takes too long', { timeout: 5 }, () => new Promise<never>(() => {}), 'timed_out'],
  [
    'says itself that it does not know',
    {},
    async () => refused('outcome_unknown', 'The line broke.'),
    'outcome_unknown',
  ],
  [
    'throws, as a broken connection does',
    {},
    async () => {
      throw new TypeError('fetch failed')
    },
    'internal',
  ],
])(
  'when it %s nobody knows whether it took effect, and it is not run again',
  async (_, rules, invoke, word) => {
    const { pay, ran } = aPayment({ rules, invoke })
    const { govern, ledger } = aPipeline()
    const call = (key?: string) => govern(aCall({ capability: pay, idempotencyKey: key }))

    const outcome = await call('k')
    const again = await call('k')
    const other = await call('other')

    expect([outcome, again, other].map(wordOf)).toEqual([
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
  ['is not what was promised', { receipt: 'none' }, 'invalid_output'],
])(
  'when only the answer %s the effect has happened all the same, and does not happen again',
  async (_, data, word) => {
    const output = aContract(
      z.object({ receipt: z.number().optional(), text: z.string().optional() }),
      'output',
    )
    const { pay, ran } = aPayment({ output, invoke: async () => done(data) })
    const { govern } = aPipeline()
    const call = (key?: string) => govern(aCall({ capability: pay, idempotencyKey: key }))

    const outcomes = [await call('k'), await call('k'), await call()]

    expect(outcomes.map(wordOf)).toEqual([word, word, 'possible_duplicate'])
    expect(ran).toHaveLength(1)
  },
)

test('a call whose client left before it began has not begun, and takes no key', async () => {
  const { pay, ran } = aPayment()
  const { govern, ledger } = aPipeline()
  const call = aCall({ capability: pay, idempotencyKey: 'k' })

  const leaving = govern(call)
  call.cancellation.cancel('The client left.')
  const left = await leaving
  const again = await govern(aCall({ capability: pay, idempotencyKey: 'k' }))

  expect([wordOf(left), wordOf(again)]).toEqual(['cancelled', 'done'])
  expect(ledger.read.runs('unknown', 10)).toEqual([])
  expect(ran).toHaveLength(1)
})

test('a client that leaves while it runs leaves an outcome that nobody knows', async () => {
  const { pay, ran, govern, call, outcome } = await aRunUnderWay({ key: 'k' })

  call.cancellation.cancel('The client left.')
  const left = await outcome
  const again = await govern(aCall({ capability: pay, idempotencyKey: 'k', input: { amount: 1 } }))

  expect([wordOf(left), wordOf(again)]).toEqual(['cancelled', 'outcome_unknown'])
  expect(ran).toHaveLength(1)
})
