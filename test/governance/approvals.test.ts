import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Call } from '../../src/capability/call.ts'
import { type Asking, done, type Outcome } from '../../src/capability/outcome.ts'
import { toFingerprint } from '../../src/catalog/fingerprint.ts'
import { Approvals } from '../../src/governance/approvals.ts'
import { createRefine, type PolicyRule } from '../../src/governance/policy.ts'
import { createRequestStates } from '../../src/mcp/request-state.ts'
import { aClock, hour, minute, second } from '../support/a-clock.ts'
import {
  aPayment,
  countWords,
  detailsOf,
  movesMoney,
  type PaymentParts,
  wordOf,
} from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCaller, aLedger, aPipeline, type PipelineParts } from '../support/builders.ts'

/** A payment that needs a human, the human's desk, and a clock. */
function aDesk({ rules, ...parts }: PaymentParts = {}, options: PipelineParts = {}) {
  const clock = aClock()
  const pipeline = aPipeline({ now: clock.now, ...options })
  const { pay, ran } = aPayment({ ...parts, rules: { approval: true, ...rules } })
  const desk = new Approvals(pipeline.ledger, clock.now)
  const call = (more: Partial<Call> = {}) =>
    pipeline.govern(aCall({ capability: pay, input: { amount: 10 }, ...more }))
  /** Calls, and gives the id of what a human is asked. */
  const request = async (more: Partial<Call> = {}) => String(detailsOf(await call(more)).approval)
  const approve = async (id: string, by = 'eve') => desk.decide(id, 'approved', by)
  return { ...pipeline, pay, ran, clock, desk, call, request, approve }
}

const atTheClient = { canAsk: new Set(['form']) }

/** What a client sends when its person has answered. */
const answering = (asking: Outcome, answer: Record<string, unknown>): Partial<Call> => ({
  ...atTheClient,
  state: (asking as Asking).state,
  answers: { approval: answer as never },
})

const yes = { action: 'accept', content: { approve: true } }

const approvals = amount(20, 200)

test.each([
  ['what must not be repeated', movesMoney],
  ['what may be repeated', { ...movesMoney, repeatable: true }],
  ['a read', { ...movesMoney, writes: false }],
])(
  `one approval, used 50 times at once, ${approvals} times over, is good for ${approvals} runs: %s`,
  async (_, effects) => {
    const { ran, call, request, approve } = aDesk({ effects })
    const outcomes: Outcome[] = []

    for (let round = 1; round <= approvals; round++) {
      const these = { input: { round } }
      await approve(await request(these))
      const used = await Promise.all(Array.from({ length: 50 }, () => call(these)))
      expect(countWords(used).done).toBe(1)
      outcomes.push(...used)
    }

    expect(ran).toHaveLength(approvals)
    expect(outcomes).toHaveLength(50 * approvals)
  },
)

test('a caller with a thousand unanswered questions asks no more; others do, and so does it when one is answered', async () => {
  const { call, request, desk, clock } = aDesk()
  const ids = await Promise.all(
    Array.from({ length: 1000 }, (_, amount) => request({ input: { amount } })),
  )

  const tooMany = await call({ input: { amount: 1000 } })
  const again = await request({ input: { amount: 7 } })
  const other = await call({ caller: { ...aCaller(), subject: 'ben' } })
  await desk.decide(String(ids[3]), 'denied', 'eve')
  const after = await call({ input: { amount: 1001 } })
  clock.pass(30 * 24 * 3600 * 1000)
  const later = await call({ input: { amount: 1002 } })

  expect(wordOf(tooMany)).toBe('rate_limited')
  expect(again).toBe(ids[7])
  expect([other, after, later].map(wordOf)).toEqual(Array(3).fill('approval_required'))
})

test('an approval that was used is not good for another run', async () => {
  const { ran, call, request, approve } = aDesk({ effects: { ...movesMoney, repeatable: true } })
  const id = await request()
  await approve(id)
  await call()

  const again = await call()
  const decidedAgain = await approve(id)

  expect(wordOf(again)).toBe('approval_required')
  expect(detailsOf(again).approval).not.toBe(id)
  expect(decidedAgain).toEqual({ fault: `${id} is already used.` })
  expect(ran).toHaveLength(1)
})

test('an approval that nobody used in time is worth nothing', async () => {
  const { ran, clock, call, request, approve } = aDesk()
  const id = await request()
  await approve(id)

  clock.pass(hour)
  const late = await call()

  expect(wordOf(late)).toBe('approval_required')
  expect(detailsOf(late).approval).not.toBe(id)
  expect(ran).toEqual([])
})

test('an approval that is just in time is worth one run', async () => {
  const { ran, clock, call, request, approve } = aDesk()
  await approve(await request())

  clock.pass(hour - 1)

  expect(wordOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test.each([
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
  ['other arguments', { input: { amount: 11 } }],
  ['more arguments', { input: { amount: 10, note: null } }],
  ['another definition', { fingerprint: 'f2' }],
])('an approval is good for nothing else: %s', async (_, other) => {
  const { ran, call, request, approve } = aDesk()
  const id = await request()
  await approve(id)

  const outcome = await call(other)

  expect(wordOf(outcome)).toBe('approval_required')
  expect(detailsOf(outcome).approval).not.toBe(id)
  expect(ran).toEqual([])
})

test('an approval is good for nothing else: another capability', async () => {
  const { pay, ran, call, request, approve } = aDesk()
  await approve(await request())
  const outcome = await call({ capability: { ...pay, name: 'refund' } })
  expect(wordOf(outcome)).toBe('approval_required')
  expect(ran).toEqual([])
})

test('the spelling of the arguments does not matter to an approval', async () => {
  const { call, request, approve } = aDesk()
  await approve(await request({ input: { amount: 10, to: 'x' } }))
  expect(wordOf(await call({ input: { to: 'x', amount: 10.0 } }))).toBe('done')
})

const policies: readonly [string, Partial<PolicyRule>][] = [
  ['who may approve', { approvers: 'others' }],
  ['a permission', { permissions: ['money:move'] }],
  ['a cost', { cost: { amount: 1, unit: 'EUR' } }],
  ['a rate', { rates: [{ calls: 1, seconds: 1 }] }],
  ['a time limit', { timeout: 5 }],
]
test.each(policies)(
  'a policy that changes %s changes the definition, and so voids what was approved',
  (_, rule) => {
    const { pay } = aPayment({ rules: { approval: true } })
    const refined = createRefine([{ match: ['pay'], ...rule }])(pay)
    expect(toFingerprint(refined)).not.toBe(toFingerprint(pay))
  },
)

test('the caller is told what to do, and repeating the call asks the same human the same thing once', async () => {
  const { ran, desk, call } = aDesk()

  const outcomes = [await call(), await call(), await call()]

  const [first] = desk.list(false)
  expect(desk.list(true)).toHaveLength(1)
  expect(outcomes[0]).toMatchObject({
    failure: {
      code: 'approval_required',
      retryable: true,
      message: expect.stringContaining(`drawbridge approvals approve ${first?.id}`),
    },
  })
  expect(new Set(outcomes.map((outcome) => detailsOf(outcome).approval)).size).toBe(1)
  expect(ran).toEqual([])
})

test('50 calls at once ask one question, and its answer counts', async () => {
  const { ran, desk, call, approve } = aDesk()

  const outcomes = await Promise.all(Array.from({ length: 50 }, () => call()))
  const [one, ...others] = desk.list(true)
  await approve(String(detailsOf(outcomes[0] as Outcome).approval))

  expect(others).toEqual([])
  expect(new Set(outcomes.map((outcome) => detailsOf(outcome).approval))).toEqual(
    new Set([one?.id]),
  )
  expect(wordOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test('an approval that was given is found even when the clock was set back meanwhile', async () => {
  const { ran, clock, call, request, approve } = aDesk({
    effects: { ...movesMoney, repeatable: true },
  })
  await approve(await request())
  await call()

  clock.pass(-5 * minute)
  await approve(await request())

  expect(wordOf(await call())).toBe('done')
  expect(ran).toHaveLength(2)
})

test('a human sees the tool, its origin, what it does, the arguments and what it costs, and nothing that hides', async () => {
  const { desk, request } = aDesk({
    description: 'Pays\u202e\u0007 somebody.',
    rules: { cost: { amount: 2, unit: 'EUR' } },
  })
  const id = await request({ input: { to: 'x\u001b[2Jy\u200b' } })

  expect(desk.find(id)).toMatchObject({
    capability: 'pay',
    caller: 'ann',
    state: 'pending',
    shown: {
      source: 'test#/look_up',
      description: 'Pays\\u{202e}\\u{7} somebody.',
      arguments: expect.stringContaining('y\\u{200b}'),
      effects: 'changes something for good, talks to other systems',
      cost: 'costs 2 EUR',
    },
  })
  expect(JSON.stringify(desk.find(id)?.shown)).toMatch(/^\P{C}*$/u)
})

test('who says no is heard: the call is refused until the request has expired', async () => {
  const { ran, clock, desk, call, request } = aDesk()
  const id = await request()
  await desk.decide(id, 'denied', 'eve')

  const refused = [await call(), await call()]
  clock.pass(hour)
  const later = await call()

  expect(refused.map(wordOf)).toEqual(['approval_denied', 'approval_denied'])
  expect(refused[0]).toMatchObject({ failure: { retryable: false, details: { approval: id } } })
  expect(wordOf(later)).toBe('approval_required')
  expect(ran).toEqual([])
})

test('a decision is made once, in time, about something that exists', async () => {
  const { clock, desk, request, approve } = aDesk()
  const [denied, expired] = [await request(), await request({ input: { amount: 11 } })]
  await desk.decide(denied, 'denied', 'eve')

  const changed = await approve(denied)
  clock.pass(hour)
  const late = await approve(expired)
  const none = await approve('nothing')

  expect(changed).toEqual({ fault: `${denied} is already denied.` })
  expect(late).toEqual({ fault: `${expired} has expired.` })
  expect(none).toEqual({ fault: 'There is no approval nothing.' })
  expect(desk.list(false)).toEqual([])
  expect(desk.list(true)).toHaveLength(2)
})

test('of two humans who decide at once, one does', async () => {
  const { desk, request } = aDesk()
  const id = await request()

  const decided = await Promise.all([
    desk.decide(id, 'approved', 'eve'),
    desk.decide(id, 'denied', 'ken'),
  ])

  expect(decided.filter((one) => 'approval' in one)).toHaveLength(1)
})

test('where somebody else has to agree, the caller cannot', async () => {
  const { ran, call, request, approve } = aDesk({ rules: { approvers: 'others' } })
  const id = await request()

  const own = await approve(id, 'ann')
  const before = await call()
  const other = await approve(id, 'eve')

  expect(own).toEqual({ fault: expect.stringContaining('another person') })
  expect(wordOf(before)).toBe('approval_required')
  expect(other).toMatchObject({ approval: { state: 'approved', decidedBy: 'eve' } })
  expect(wordOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test('where only some may agree, nobody else can', async () => {
  const { call, request, approve } = aDesk({ rules: { approvers: ['eve', 'ken'] } })
  const id = await request()

  const outsider = await approve(id, 'bob')
  const insider = await approve(id, 'ken')

  expect(outsider).toEqual({ fault: 'Only eve, ken may decide, not bob.' })
  expect(insider).toMatchObject({ approval: { decidedBy: 'ken' } })
  expect(wordOf(await call())).toBe('done')
})

test('where somebody else has to agree, the person at the client is not asked, and what they say does not count', async () => {
  const { ran, call, desk } = aDesk({ rules: { approvers: 'others' } })

  const outcome = await call(atTheClient)
  const [pending] = desk.list(false)
  // As if the sealed state had been made by an earlier policy.
  const forged = answering(
    { kind: 'asking', questions: {}, state: { approval: pending?.id ?? '' } },
    yes,
  )
  const answered = await call(forged)

  expect([wordOf(outcome), wordOf(answered)]).toEqual(['approval_required', 'approval_required'])
  expect(ran).toEqual([])
})

test('a person at the client is asked there, says yes, and it runs once', async () => {
  const { ran, desk, call } = aDesk({ effects: { ...movesMoney, repeatable: true } })

  const asking = await call(atTheClient)
  const answer = answering(asking, yes)
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => call(answer)))
  const replayed = await call(answer)

  expect(asking).toMatchObject({
    kind: 'asking',
    questions: { approval: { kind: 'form', message: expect.stringContaining('Allow pay?') } },
    state: { approval: desk.list(true)[0]?.id },
  })
  expect(countWords(outcomes).done).toBe(1)
  expect(wordOf(replayed)).toBe('approval_expired')
  expect(ran).toHaveLength(1)
})

test.each([
  ['declines', { action: 'decline' }, 'approval_denied'],
  ['says no', { action: 'accept', content: { approve: false } }, 'approval_denied'],
  ['says something else', { action: 'accept', content: { approve: 'true' } }, 'approval_denied'],
  ['says nothing', { action: 'accept' }, 'approval_denied'],
  ['closes the question', { action: 'cancel' }, 'approval_required'],
])('a person at the client who %s has not agreed', async (_, answer, word) => {
  const { ran, call } = aDesk()
  const asking = await call(atTheClient)
  expect(wordOf(await call(answering(asking, answer)))).toBe(word)
  expect(ran).toEqual([])
})

test('a person at the client has ten minutes', async () => {
  const { ran, clock, call } = aDesk()
  const asking = await call(atTheClient)
  clock.pass(10 * minute)
  expect(wordOf(await call(answering(asking, yes)))).toBe('approval_expired')
  expect(ran).toEqual([])
})

test.each([
  ['without the state', { ...atTheClient, answers: { approval: yes as never } }],
  [
    'in the arguments',
    { ...atTheClient, input: { amount: 10, approval: 'yes', approve: true, _approved: true } },
  ],
  [
    'with a state that names nothing',
    answering({ kind: 'asking', questions: {}, state: { approval: 'x' } }, yes),
  ],
])('text from a model approves nothing: an answer %s', async (_, more) => {
  const { ran, call } = aDesk()
  expect(['asking', 'approval_expired']).toContain(wordOf(await call(more)))
  expect(ran).toEqual([])
})

test.each([
  ['other arguments', { input: { amount: 11 } }],
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
  ['another definition', { fingerprint: 'f2' }],
])('a yes to one call is no yes to %s', async (_, other) => {
  const { ran, call } = aDesk()
  const asking = await call(atTheClient)
  const outcome = await call({ ...answering(asking, yes), ...other })
  expect(wordOf(outcome)).toBe('approval_expired')
  expect(ran).toEqual([])
})

test('nothing is reached before the approval, and the decision is on the disk before it runs', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const seen: unknown[] = []
  const { ran, call, request, approve, ledger } = aDesk(
    {
      invoke: async () => {
        // Somebody else's view of the file: only what is written counts.
        const onDisk = aLedger(file)
        for (const { entry } of onDisk.audit.records(0)) seen.push(entry)
        await onDisk.close()
        return done({})
      },
    },
    { file },
  )

  const id = await request()
  expect(ran).toEqual([])
  await approve(id)
  expect(ran).toEqual([])
  await call()

  expect(seen).toMatchObject([
    { event: 'asked', id },
    { event: 'end', code: 'approval_required' },
    { event: 'approved', id, by: 'eve', caller: 'ann' },
    { event: 'begin', decisions: [{ step: 'approval', note: `approved by eve (${id})` }] },
  ])
  await ledger.close()
})

test('a no is written down, too', async () => {
  const { desk, request, call, audited } = aDesk()
  const id = await request()
  await desk.decide(id, 'denied', 'eve')
  const asking = await call({ ...atTheClient, input: { amount: 11 } })
  await call({ ...answering(asking, { action: 'decline' }), input: { amount: 11 } })

  const entries = await audited()

  expect(entries.filter(({ event }) => event === 'denied')).toMatchObject([
    { id, by: 'eve' },
    { id: desk.list(true).find(({ decidedBy }) => decidedBy === 'ann')?.id, by: 'ann' },
  ])
})

test('a tool that asks something itself after it was approved keeps its approval until it has run', async () => {
  const { ran, desk, call } = aDesk({
    invoke: async ({ answers }) =>
      answers.account
        ? done({ from: answers.account })
        : {
            kind: 'asking',
            questions: { account: { kind: 'form', message: 'Which?', schema: { type: 'object' } } },
            state: { step: 2 },
          },
  })

  const first = await call(atTheClient)
  const second = await call(answering(first, yes))
  const third = await call({
    ...atTheClient,
    state: (second as Asking).state,
    answers: { account: { action: 'accept', content: { account: 'A' } } },
  })
  const fourth = await call(atTheClient)

  expect([first, second, third, fourth].map(wordOf)).toEqual([
    'asking',
    'asking',
    'done',
    'possible_duplicate',
  ])
  expect(second).toMatchObject({ questions: { account: {} } })
  expect(desk.list(true)).toMatchObject([{ state: 'used', decidedBy: 'ann' }])
  expect(ran).toHaveLength(2)
})

test('a tool that asks keeps no key and no money', async () => {
  const { ran, call, ledger } = aDesk({
    rules: {
      approval: false,
      cost: { amount: 3, unit: 'EUR' },
      budgets: [
        {
          id: 'b',
          unit: 'EUR',
          limit: 3,
          per: 'caller',
          window: 'day',
          thresholds: { alert: 100, reauthorise: 100, stop: 100 },
        },
      ],
    },
    invoke: async ({ answers }) =>
      answers.account ? done({}) : { kind: 'asking', questions: {}, state: {} },
  })

  await call({ idempotencyKey: 'k' })
  await call({ idempotencyKey: 'k' })
  const other = await call({ idempotencyKey: 'k', answers: { account: {} }, input: { amount: 12 } })

  expect(wordOf(other)).toBe('done')
  expect(ran).toHaveLength(3)
  expect(ledger.read.spent('b ann', '2026-03-10')).toBe(3)
})

test('a crash between the approval and the end of the run does not give the approval back', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const hanging = { rules: { timeout: 20_000 }, invoke: () => new Promise<never>(() => {}) }
  const before = aDesk({ ...hanging, effects: { ...movesMoney, repeatable: true } }, { file })
  await before.approve(await before.request())
  void before.call()
  while (before.ran.length === 0) await new Promise(setImmediate)

  const after = aDesk(
    { effects: { ...movesMoney, repeatable: true } },
    { file, isAlive: () => false },
  )
  const outcome = await after.call()

  expect(wordOf(outcome)).toBe('approval_required')
  expect(after.ran).toEqual([])
})

test('a budget that wants an agreement, and an approval that is needed anyway, ask once', async () => {
  const { ran, call, request, approve, desk } = aDesk({
    rules: {
      budgets: [
        {
          id: 'b',
          unit: 'calls',
          limit: 1,
          per: 'caller',
          window: 'day',
          thresholds: { alert: 80, reauthorise: 100, stop: 200 },
        },
      ],
    },
  })
  await approve(await request())
  await call()
  const over = { input: { amount: 11 } }

  const id = await request(over)
  await approve(id)

  expect(desk.find(id)?.shown.cost).toContain('2 of 1 calls')
  expect(wordOf(await call(over))).toBe('done')
  expect(ran).toHaveLength(2)
})

test('an explanation asks nobody and writes nothing', async () => {
  const { checks, desk, pay } = aDesk()
  const approval = checks.find(({ name }) => name === 'approval')
  const verdict = await approval?.decide(aCall({ capability: pay }), 'explain')
  expect(verdict).toMatchObject({ ends: { kind: 'asking' } })
  expect(desk.list(true)).toEqual([])
})

test('a human is not kept waiting by the time limit of the call', async () => {
  const { clock, call, request, approve } = aDesk({ rules: { timeout: 50 } })
  await approve(await request())
  clock.pass(30 * second)
  expect(wordOf(await call())).toBe('done')
})

const binding = { subject: 'ann', method: 'tools/call', name: 'pay', input: { amount: 10 } }
const aKey = () => Uint8Array.from({ length: 32 }, (_, index) => index)

/** What a server says to a state: `accepted`, or its one error. */
async function open(
  sealed: string,
  { key = aKey(), now = aClock().now, ...changed }: Record<string, unknown> = {},
): Promise<string> {
  const states = createRequestStates(key as Uint8Array, now as () => number)
  try {
    await states.open(sealed, { ...binding, ...changed })
    return 'accepted'
  } catch (error) {
    const { code, message, data } = error as { code: number; message: string; data: unknown }
    return `${code} ${message}${data === undefined ? '' : ' and more'}`
  }
}
const theOneError = '-32602 Invalid or expired requestState'

const aSealedState = () =>
  createRequestStates(aKey(), aClock().now).seal({ approval: 'A', note: 'secret words' }, binding)

test('a state comes back to the call it was made for, and the client cannot read it', async () => {
  const states = createRequestStates(aKey(), aClock().now)
  const sealed = await aSealedState()
  expect(await states.open(sealed, binding)).toEqual({ approval: 'A', note: 'secret words' })
  const parts = sealed.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  expect(parts.join()).not.toMatch(/secret|approval|ann/)
})

const damagedStates = amount(2_000, 20_000)

test(`${damagedStates} states with one bit turned over are all refused with the same words`, async () => {
  const sealed = await aSealedState()
  const said = new Map<string, number>()
  for (let bit = 0; bit < damagedStates; bit++) {
    const bytes = Buffer.from(sealed)
    const at = bit % bytes.length
    bytes[at] = (bytes[at] as number) ^ (1 << (Math.floor(bit / bytes.length) % 8))
    const word = await open(bytes.toString('latin1'))
    said.set(word, (said.get(word) ?? 0) + 1)
  }
  expect([...said]).toEqual([[theOneError, damagedStates]])
})

test('a state with one bit turned over inside each of its parts is refused', async () => {
  const sealed = (await aSealedState()).split('.')
  const said = new Set<string>()
  for (const [index, part] of sealed.entries()) {
    const bytes = Buffer.from(part, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const turned = Buffer.from(bytes)
      turned[bit >> 3] = (turned[bit >> 3] as number) ^ (1 << (bit & 7))
      said.add(await open(sealed.with(index, turned.toString('base64url')).join('.')))
    }
  }
  expect([...said]).toEqual([theOneError])
})

test('a state that is cut, lengthened, mixed or made up is refused', async () => {
  const sealed = await aSealedState()
  const other = (await createRequestStates(aKey(), aClock().now).seal({}, binding)).split('.')
  const parts = sealed.split('.')
  const forged = [
    ...Array.from({ length: sealed.length }, (_, length) => sealed.slice(0, length)),
    ...Array.from({ length: sealed.length }, (_, from) => sealed.slice(from + 1)),
    ...parts
      .map((_, index) => parts.with(index, other[index] as string).join('.'))
      .filter((mixed) => mixed !== sealed),
    ...['A', '.', ' ', '\n', '=', '\0', '.A'].flatMap((more) => [sealed + more, more + sealed]),
    toHeader({ alg: 'none' }) + sealed.slice(sealed.indexOf('.')),
    `${toHeader({ alg: 'none' })}.${toHeader({ for: 'x', exp: 9e9 })}.`,
    `${toHeader({ alg: 'dir', enc: 'A128GCM' })}${sealed.slice(sealed.indexOf('.'))}`,
    `v2.${sealed}`,
    '{}',
    'null',
    '',
  ]
  const said = new Set<string>()
  for (const one of forged) said.add(await open(one))
  expect([...said]).toEqual([theOneError])
})

const toHeader = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

test.each([
  ['another caller', { subject: 'ben' }],
  ['another method', { method: 'prompts/get' }],
  ['another name', { name: 'refund' }],
  ['other arguments', { input: { amount: 11 } }],
  ['no arguments', { input: undefined }],
  ['another key', { key: new Uint8Array(randomBytes(32)) }],
  ['another time: 600 seconds later', { now: () => aClock().now() + 10 * minute }],
])('a state is worth nothing for %s, and it is not said why', async (_, changed) => {
  const sealed = await aSealedState()
  expect(await open(sealed)).toBe('accepted')
  expect(await open(sealed, changed)).toBe(theOneError)
})

test('a state is good for not quite ten minutes, and for arguments in any spelling', async () => {
  const sealed = await aSealedState()
  const now = () => aClock().now() + 10 * minute - second
  expect(await open(sealed, { now, input: JSON.parse('{ "amount": 1e1 }') })).toBe('accepted')
})
