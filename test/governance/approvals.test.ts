import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { expect, test } from 'vitest'
import type { Call } from '../../src/capability/call.ts'
import type { Capability } from '../../src/capability/capability.ts'
import { type Asking, done, type Outcome } from '../../src/capability/outcome.ts'
import type { Approvers } from '../../src/capability/rules.ts'
import { toFingerprint } from '../../src/catalog/fingerprint.ts'
import { Approvals } from '../../src/governance/approvals.ts'
import { createRefine, type PolicyRule } from '../../src/governance/policy.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import { createRequestStates } from '../../src/mcp/request-state.ts'
import { aClock, hour, minute, second } from '../support/a-clock.ts'
import {
  aPayment,
  countVerdicts,
  detailsOf,
  movesMoney,
  type PaymentParts,
  verdictOf,
} from '../support/a-payment.ts'
import { aProject } from '../support/a-project.ts'
import { amount } from '../support/amount.ts'
import { aCall, aCaller, aLedger, aPipeline, type PipelineParts } from '../support/builders.ts'

/** A payment that needs approval, with the approvals API and a clock. */
function anApprovalSetup({ rules, ...parts }: PaymentParts = {}, options: PipelineParts = {}) {
  const clock = aClock()
  const pipeline = aPipeline({ now: clock.now, ...options })
  const { pay, ran } = aPayment({ ...parts, rules: { approval: true, ...rules } })
  const approvalsApi = new Approvals(pipeline.ledger)
  const call = (overrides: Partial<Call> = {}) =>
    pipeline.govern(aCall({ capability: pay, input: { amount: 10 }, ...overrides }))
  /** Calls the capability and returns the id of the pending approval. */
  const request = async (overrides: Partial<Call> = {}) =>
    String(detailsOf(await call(overrides)).approval)
  const approve = async (id: string, by = 'eve') => approvalsApi.decide(id, 'approved', by)
  return { ...pipeline, pay, ran, clock, approvalsApi, call, request, approve }
}

const elicitation = { canAsk: new Set(['form']) }

/** The retry a client sends with its user's answer. */
const answerElicitation = (question: Outcome, answer: Record<string, unknown>): Partial<Call> => ({
  ...elicitation,
  state: (question as Asking).state,
  answers: { approval: answer as never },
})

const acceptance = { action: 'accept', content: { approve: true } }

const approvalCount = amount(20, 200)

test.each([
  ['an unrepeatable effect', movesMoney],
  ['a repeatable effect', { ...movesMoney, repeatable: true }],
  ['a read', { ...movesMoney, writes: false }],
])(
  `one approval allows one run under 50 concurrent calls, ${approvalCount} times over, for ${approvalCount} runs: %s`,
  async (_, effects) => {
    const { ran, call, request, approve } = anApprovalSetup({ effects })
    const outcomes: Outcome[] = []

    for (let round = 1; round <= approvalCount; round++) {
      const overrides = { input: { round } }
      await approve(await request(overrides))
      const results = await Promise.all(Array.from({ length: 50 }, () => call(overrides)))
      expect(countVerdicts(results).done).toBe(1)
      outcomes.push(...results)
    }

    expect(ran).toHaveLength(approvalCount)
    expect(outcomes).toHaveLength(50 * approvalCount)
  },
)

test('a caller with 1000 pending approvals is rate limited; other callers are not, and a decision frees a slot', async () => {
  const { call, request, approvalsApi, clock } = anApprovalSetup()
  const ids = await Promise.all(
    Array.from({ length: 1000 }, (_, amount) => request({ input: { amount } })),
  )

  const tooMany = await call({ input: { amount: 1000 } })
  const repeated = await request({ input: { amount: 7 } })
  const otherCaller = await call({ caller: { ...aCaller(), subject: 'ben' } })
  await approvalsApi.decide(String(ids[3]), 'denied', 'eve')
  const afterDecision = await call({ input: { amount: 1001 } })
  clock.pass(30 * 24 * 3600 * 1000)
  const afterExpiry = await call({ input: { amount: 1002 } })

  expect(verdictOf(tooMany)).toBe('rate_limited')
  expect(repeated).toBe(ids[7])
  expect([otherCaller, afterDecision, afterExpiry].map(verdictOf)).toEqual(
    Array(3).fill('approval_required'),
  )
})

test('a used approval does not allow a second run', async () => {
  const { ran, call, request, approve } = anApprovalSetup({
    effects: { ...movesMoney, repeatable: true },
  })
  const id = await request()
  await approve(id)
  await call()

  const repeated = await call()
  const secondDecision = await approve(id)

  expect(verdictOf(repeated)).toBe('approval_required')
  expect(detailsOf(repeated).approval).not.toBe(id)
  expect(secondDecision).toEqual({ fault: `${id} is already used.` })
  expect(ran).toHaveLength(1)
})

test('an approval expires when it is not used in time', async () => {
  const { ran, clock, call, request, approve } = anApprovalSetup()
  const id = await request()
  await approve(id)

  clock.pass(hour)
  const expiredResult = await call()

  expect(verdictOf(expiredResult)).toBe('approval_required')
  expect(detailsOf(expiredResult).approval).not.toBe(id)
  expect(ran).toEqual([])
})

test('an approval is valid until just before it expires', async () => {
  const { ran, clock, call, request, approve } = anApprovalSetup()
  await approve(await request())

  clock.pass(hour - 1)

  expect(verdictOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test.each([
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
  ['other arguments', { input: { amount: 11 } }],
  ['more arguments', { input: { amount: 10, note: null } }],
])('an approval is bound to its call: %s', async (_, other) => {
  const { ran, call, request, approve } = anApprovalSetup()
  const id = await request()
  await approve(id)

  const outcome = await call(other)

  expect(verdictOf(outcome)).toBe('approval_required')
  expect(detailsOf(outcome).approval).not.toBe(id)
  expect(ran).toEqual([])
})

test('an approval is bound to its call: another capability', async () => {
  const { pay, ran, call, request, approve } = anApprovalSetup()
  await approve(await request())
  const outcome = await call({ capability: { ...pay, name: 'refund' } })
  expect(verdictOf(outcome)).toBe('approval_required')
  expect(ran).toEqual([])
})

const changes: readonly [string, Partial<Capability>][] = [
  ['description', { description: 'Pays twice.' }],
  ['effects', { effects: { ...movesMoney, reachesOut: false } }],
  ['destination', { destination: { endpoint: 'https://other.example/pay' } }],
  ['code', { code: 'another digest' }],
]
test.each(changes)('a changed %s makes the approval void', async (part, change) => {
  const { pay, ran, call, request, approve, readAudit } = anApprovalSetup()
  const id = await request()
  await approve(id)

  const outcome = await call({ capability: { ...pay, ...change }, fingerprint: 'f2' })

  expect(verdictOf(outcome)).toBe('approval_void')
  const { approval: next } = detailsOf(outcome)
  expect(next).not.toBe(id)
  expect(outcome).toMatchObject({
    failure: {
      message: `Approval ${id} of pay is void: ${part} changed after it was requested. Nothing was executed. New approval request: ${next}. Ask an approver to run, in the folder of the server's configuration: drawbridge approvals approve ${next} — then make exactly the same call again.`,
      details: { approval: next, void: id, changed: [part] },
      retryable: true,
    },
  })
  expect(await readAudit()).toContainEqual(
    expect.objectContaining({
      event: 'approval_void',
      id,
      caller: 'ann',
      capability: 'pay',
      changed: [part],
    }),
  )
  // Undoing the change does not make it valid again.
  expect(verdictOf(await call())).toBe('approval_void')
  expect(ran).toEqual([])
})

test('an approval is void when the policy in force has changed', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const before = anApprovalSetup({}, { file })
  const id = await before.request()
  await before.approve(id)
  const after = anApprovalSetup({}, { file, settings: { policyDigest: 'p2' } })

  const outcome = await after.call()

  expect(verdictOf(outcome)).toBe('approval_void')
  expect(detailsOf(outcome)).toMatchObject({ void: id, changed: ['policy'] })
  expect([...before.ran, ...after.ran]).toEqual([])
})

test('a used approval is not void', async () => {
  const { pay, call, request, approve } = anApprovalSetup({
    effects: { ...movesMoney, repeatable: true },
  })
  await approve(await request())
  expect(verdictOf(await call())).toBe('done')

  const outcome = await call({ capability: { ...pay, code: 'c2' }, fingerprint: 'f2' })

  expect(verdictOf(outcome)).toBe('approval_required')
})

test('an approval matches arguments in canonical form', async () => {
  const { call, request, approve } = anApprovalSetup()
  await approve(await request({ input: { amount: 10, to: 'x' } }))
  expect(verdictOf(await call({ input: { to: 'x', amount: 10.0 } }))).toBe('done')
})

const policies: readonly [string, Partial<PolicyRule>][] = [
  ['who may approve', { approvers: 'others' }],
  ['a permission', { permissions: ['money:move'] }],
  ['a cost', { cost: { amount: 1, unit: 'EUR' } }],
  ['a rate', { rates: [{ calls: 1, seconds: 1 }] }],
  ['a time limit', { timeout: 5 }],
]
test.each(policies)(
  'a policy that changes %s changes the fingerprint and so invalidates approvals',
  (_, rule) => {
    const { pay } = aPayment({ rules: { approval: true } })
    const refined = createRefine([{ match: ['pay'], ...rule }])(pay)
    expect(toFingerprint(refined)).not.toBe(toFingerprint(pay))
  },
)

test('the refusal explains how to approve, and repeated calls share one pending approval', async () => {
  const { ran, approvalsApi, call } = anApprovalSetup()

  const outcomes = [await call(), await call(), await call()]

  const [first] = approvalsApi.list(false)
  expect(approvalsApi.list(true)).toHaveLength(1)
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

test('50 concurrent calls create one pending approval', async () => {
  const { ran, approvalsApi, call, approve } = anApprovalSetup()

  const outcomes = await Promise.all(Array.from({ length: 50 }, () => call()))
  const [pending, ...others] = approvalsApi.list(true)
  await approve(String(detailsOf(outcomes[0] as Outcome).approval))

  expect(others).toEqual([])
  expect(new Set(outcomes.map((outcome) => detailsOf(outcome).approval))).toEqual(
    new Set([pending?.id]),
  )
  expect(verdictOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test('an approval is found after the clock was set back', async () => {
  const { ran, clock, call, request, approve } = anApprovalSetup({
    effects: { ...movesMoney, repeatable: true },
  })
  await approve(await request())
  await call()

  clock.pass(-5 * minute)
  await approve(await request())

  expect(verdictOf(await call())).toBe('done')
  expect(ran).toHaveLength(2)
})

test('the approval shows tool, origin, description, arguments and cost with control characters escaped', async () => {
  const { approvalsApi, request } = anApprovalSetup({
    description: 'Pays\u202e\u0007 somebody.',
    rules: { cost: { amount: 2, unit: 'EUR' } },
  })
  const id = await request({ input: { to: 'x\u001b[2Jy\u200b' } })

  expect(approvalsApi.find(id)).toMatchObject({
    capability: 'pay',
    caller: 'ann',
    state: 'pending',
    shown: {
      source: 'test#/look_up',
      description: 'Pays\\u{202e}\\u{7} somebody.',
      arguments: expect.stringContaining('y\\u{200b}'),
      effects: 'makes a change that cannot be undone, contacts other systems',
      cost: 'costs 2 EUR',
    },
  })
  expect(JSON.stringify(approvalsApi.find(id)?.shown)).toMatch(/^\P{C}*$/u)
})

test('a denied call is refused until the approval expires', async () => {
  const { ran, clock, approvalsApi, call, request } = anApprovalSetup()
  const id = await request()
  await approvalsApi.decide(id, 'denied', 'eve')

  const refusals = [await call(), await call()]
  clock.pass(hour)
  const afterExpiry = await call()

  expect(refusals.map(verdictOf)).toEqual(['approval_denied', 'approval_denied'])
  expect(refusals[0]).toMatchObject({ failure: { retryable: false, details: { approval: id } } })
  expect(verdictOf(afterExpiry)).toBe('approval_required')
  expect(ran).toEqual([])
})

test('a decision is rejected when the approval is already decided, expired or unknown', async () => {
  const { clock, approvalsApi, request, approve } = anApprovalSetup()
  const [denied, expired] = [await request(), await request({ input: { amount: 11 } })]
  await approvalsApi.decide(denied, 'denied', 'eve')

  const changedDecision = await approve(denied)
  clock.pass(hour)
  const lateDecision = await approve(expired)
  const unknownDecision = await approve('nothing')

  expect(changedDecision).toEqual({ fault: `${denied} is already denied.` })
  expect(lateDecision).toEqual({ fault: `${expired} has expired.` })
  expect(unknownDecision).toEqual({ fault: 'There is no approval nothing.' })
  expect(approvalsApi.list(false)).toEqual([])
  expect(approvalsApi.list(true)).toHaveLength(2)
})

test('one of two concurrent decisions wins', async () => {
  const { approvalsApi, request } = anApprovalSetup()
  const id = await request()

  const decisions = await Promise.all([
    approvalsApi.decide(id, 'approved', 'eve'),
    approvalsApi.decide(id, 'denied', 'ken'),
  ])

  expect(decisions.filter((one) => 'approval' in one)).toHaveLength(1)
})

test('with approvers "others" the caller cannot approve its own call', async () => {
  const { ran, call, request, approve } = anApprovalSetup({ rules: { approvers: 'others' } })
  const id = await request()

  const ownDecision = await approve(id, 'ann')
  const outcomeBefore = await call()
  const otherDecision = await approve(id, 'eve')

  expect(ownDecision).toEqual({ fault: expect.stringContaining('another person') })
  expect(verdictOf(outcomeBefore)).toBe('approval_required')
  expect(otherDecision).toMatchObject({ approval: { state: 'approved', decidedBy: 'eve' } })
  expect(verdictOf(await call())).toBe('done')
  expect(ran).toHaveLength(1)
})

test('with named approvers only they can decide', async () => {
  const { call, request, approve } = anApprovalSetup({ rules: { approvers: ['eve', 'ken'] } })
  const id = await request()

  const outsiderDecision = await approve(id, 'bob')
  const insiderDecision = await approve(id, 'ken')

  expect(outsiderDecision).toEqual({ fault: 'Only eve, ken may decide, not bob.' })
  expect(insiderDecision).toMatchObject({ approval: { decidedBy: 'ken' } })
  expect(verdictOf(await call())).toBe('done')
})

/** Rows: the rule. Columns: whether the caller ann, the listed ken and the unlisted bob may decide. */
const deciders: readonly [string, Approvers | undefined, Record<string, boolean>][] = [
  ['no approvers', undefined, { ann: false, ken: true, bob: true }],
  ['self', 'self', { ann: true, ken: true, bob: true }],
  ['others', 'others', { ann: false, ken: true, bob: true }],
  ['a list', ['eve', 'ken'], { ann: false, ken: true, bob: false }],
  ['a list with the caller', ['ann', 'ken'], { ann: false, ken: true, bob: false }],
  ['an empty list', [], { ann: false, ken: false, bob: false }],
]
test.each(deciders)('who may decide: %s', async (_, approvers, expected) => {
  const { request, approvalsApi } = anApprovalSetup({ rules: dropUndefined({ approvers }) })
  for (const [by, isAllowed] of Object.entries(expected))
    for (const state of ['approved', 'denied'] as const) {
      const id = await request({ input: { by, state } })
      expect([by, 'approval' in (await approvalsApi.decide(id, state, by))]).toEqual([
        by,
        isAllowed,
      ])
    }
})

test.each(['Ann', 'ANN', ' ann\u00a0', 'a\u200bnn', 'ａｎｎ', '𝐚𝐧𝐧', 'ann\u0000'])(
  'the caller cannot decide as %j',
  async (by) => {
    const { request, approve } = anApprovalSetup()
    expect(await approve(await request(), by)).toEqual({
      fault: expect.stringContaining('another'),
    })
  },
)

test('a caller with a composed name cannot decide under the decomposed one', async () => {
  const { request, approve } = anApprovalSetup()
  const id = await request({ caller: { ...aCaller(), subject: 'Zo\u00eb Stra\u00dfe' } })
  expect(await approve(id, 'zoe\u0308 STRASSE')).toEqual({
    fault: expect.stringContaining('another'),
  })
})

const mergedApprovers: readonly [Approvers | undefined, Approvers | undefined, unknown][] = [
  [undefined, 'self', 'self'],
  [undefined, 'others', 'others'],
  ['self', 'others', 'others'],
  ['self', ['ken'], ['ken']],
  ['others', ['ken'], ['ken']],
  [['eve', 'ken'], ['ken', 'bob'], ['ken']],
  [['eve'], ['ken'], []],
]
test.each(mergedApprovers)(
  'the stricter of the approvers %j and %j applies, in either order',
  (first, second, expected) => {
    for (const [own, added] of [
      [first, second],
      [second, first],
    ]) {
      const { pay } = aPayment({ rules: dropUndefined({ approval: true, approvers: own }) })
      const refine = createRefine([{ match: ['pay'], ...dropUndefined({ approvers: added }) }])
      expect(refine(pay).rules.approvers).toEqual(expected)
    }
  },
)

test('with approvers "others" the user of the client is not asked, and a forged answer is ignored', async () => {
  const { ran, call, approvalsApi } = anApprovalSetup({ rules: { approvers: 'others' } })

  const outcome = await call(elicitation)
  const [pending] = approvalsApi.list(false)
  // Simulates a sealed state made under an earlier policy.
  const forged = answerElicitation(
    { kind: 'asking', questions: {}, state: { approval: pending?.id ?? '' } },
    acceptance,
  )
  const forgedOutcome = await call(forged)

  expect([verdictOf(outcome), verdictOf(forgedOutcome)]).toEqual([
    'approval_required',
    'approval_required',
  ])
  expect(ran).toEqual([])
})

test('a client that supports elicitation is asked, and acceptance allows one run', async () => {
  const { ran, approvalsApi, call } = anApprovalSetup({
    effects: { ...movesMoney, repeatable: true },
  })

  const question = await call(elicitation)
  const answer = answerElicitation(question, acceptance)
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => call(answer)))
  const replayed = await call(answer)

  expect(question).toMatchObject({
    kind: 'asking',
    questions: { approval: { kind: 'form', message: expect.stringContaining('Allow pay?') } },
    state: { approval: approvalsApi.list(true)[0]?.id },
  })
  expect(countVerdicts(outcomes).done).toBe(1)
  expect(verdictOf(replayed)).toBe('approval_expired')
  expect(ran).toHaveLength(1)
})

test.each([
  ['declines', { action: 'decline' }, 'approval_denied'],
  ['has a false value', { action: 'accept', content: { approve: false } }, 'approval_denied'],
  [
    'has a non-boolean value',
    { action: 'accept', content: { approve: 'true' } },
    'approval_required',
  ],
  ['has no content', { action: 'accept' }, 'approval_required'],
  ['has an unknown action', { action: 'maybe' }, 'approval_required'],
  ['cancels', { action: 'cancel' }, 'approval_required'],
])('an elicitation answer that %s is not an approval', async (_, answer, word) => {
  const { ran, call } = anApprovalSetup()
  const question = await call(elicitation)
  expect(verdictOf(await call(answerElicitation(question, answer)))).toBe(word)
  expect(ran).toEqual([])
})

test('an elicitation answer expires after ten minutes', async () => {
  const { ran, clock, call } = anApprovalSetup()
  const question = await call(elicitation)
  clock.pass(10 * minute)
  expect(verdictOf(await call(answerElicitation(question, acceptance)))).toBe('approval_expired')
  expect(ran).toEqual([])
})

test.each([
  ['without the state', { ...elicitation, answers: { approval: acceptance as never } }],
  [
    'in the arguments',
    { ...elicitation, input: { amount: 10, approval: 'yes', approve: true, _approved: true } },
  ],
  [
    'with a state that names nothing',
    answerElicitation({ kind: 'asking', questions: {}, state: { approval: 'x' } }, acceptance),
  ],
])('model output cannot approve: an answer %s', async (_, overrides) => {
  const { ran, call } = anApprovalSetup()
  expect(['asking', 'approval_expired']).toContain(verdictOf(await call(overrides)))
  expect(ran).toEqual([])
})

test.each([
  ['other arguments', { input: { amount: 11 } }],
  ['another caller', { caller: { ...aCaller(), subject: 'ben' } }],
])('an accepted elicitation is not valid for %s', async (_, other) => {
  const { ran, call } = anApprovalSetup()
  const question = await call(elicitation)
  const outcome = await call({ ...answerElicitation(question, acceptance), ...other })
  expect(verdictOf(outcome)).toBe('approval_expired')
  expect(ran).toEqual([])
})

test('an accepted elicitation is void when the code changed after the question', async () => {
  const { pay, ran, call, readAudit } = anApprovalSetup()
  const question = await call(elicitation)
  const outcome = await call({
    ...answerElicitation(question, acceptance),
    capability: { ...pay, code: 'c2' },
    fingerprint: 'f2',
  })
  expect(verdictOf(outcome)).toBe('approval_void')
  expect(detailsOf(outcome)).toMatchObject({ changed: ['code'] })
  expect(await readAudit()).toContainEqual(
    expect.objectContaining({ event: 'approval_void', changed: ['code'] }),
  )
  expect(ran).toEqual([])
})

test('nothing runs before the approval, and the decision is on disk before the run', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const auditEntries: unknown[] = []
  const { ran, call, request, approve, ledger } = anApprovalSetup(
    {
      invoke: async () => {
        // A second connection sees only committed records.
        const onDisk = aLedger(file, aClock().now)
        for (const { entry } of onDisk.audit.records(0)) auditEntries.push(entry)
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

  expect(auditEntries).toMatchObject([
    { event: 'asked', id },
    { event: 'end', code: 'approval_required' },
    { event: 'approved', id, by: 'eve', caller: 'ann' },
    { event: 'begin', decisions: [{ step: 'approval', note: `approved by eve (${id})` }] },
  ])
  await ledger.close()
})

test('a denial is audited', async () => {
  const { approvalsApi, request, call, readAudit } = anApprovalSetup()
  const id = await request()
  await approvalsApi.decide(id, 'denied', 'eve')
  const question = await call({ ...elicitation, input: { amount: 11 } })
  await call({ ...answerElicitation(question, { action: 'decline' }), input: { amount: 11 } })

  const entries = await readAudit()

  expect(entries.filter(({ event }) => event === 'denied')).toMatchObject([
    { id, by: 'eve' },
    { id: approvalsApi.list(true).find(({ decidedBy }) => decidedBy === 'ann')?.id, by: 'ann' },
  ])
})

test('a tool that asks its own question keeps its approval until it has run', async () => {
  const { ran, approvalsApi, call } = anApprovalSetup({
    invoke: async ({ answers }) =>
      answers.account
        ? done({ from: answers.account })
        : {
            kind: 'asking',
            questions: { account: { kind: 'form', message: 'Which?', schema: { type: 'object' } } },
            state: { step: 2 },
          },
  })

  const first = await call(elicitation)
  const second = await call(answerElicitation(first, acceptance))
  const third = await call({
    ...elicitation,
    state: (second as Asking).state,
    answers: { account: { action: 'accept', content: { account: 'A' } } },
  })
  const fourth = await call(elicitation)

  expect([first, second, third, fourth].map(verdictOf)).toEqual([
    'asking',
    'asking',
    'done',
    'possible_duplicate',
  ])
  expect(second).toMatchObject({ questions: { account: {} } })
  expect(approvalsApi.list(true)).toMatchObject([{ state: 'used', decidedBy: 'ann' }])
  expect(ran).toHaveLength(2)
})

test('a tool that asks a question consumes no key and no budget', async () => {
  const { ran, call, ledger } = anApprovalSetup({
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

  expect(verdictOf(other)).toBe('done')
  expect(ran).toHaveLength(3)
  expect(ledger.read.spent('b ann', '2026-03-10')).toBe(3)
})

test('a crash during the run does not restore the approval', async () => {
  const file = path.join(await aProject({}), 'ledger.db')
  const hangingPayment = { rules: { timeout: 20_000 }, invoke: () => new Promise<never>(() => {}) }
  const crashed = anApprovalSetup(
    { ...hangingPayment, effects: { ...movesMoney, repeatable: true } },
    { file },
  )
  await crashed.approve(await crashed.request())
  void crashed.call()
  while (crashed.ran.length === 0) await new Promise(setImmediate)

  const restarted = anApprovalSetup(
    { effects: { ...movesMoney, repeatable: true } },
    { file, isAlive: () => false },
  )
  const outcome = await restarted.call()

  expect(verdictOf(outcome)).toBe('approval_required')
  expect(restarted.ran).toEqual([])
})

test('a budget reauthorisation and a required approval are asked as one', async () => {
  const { ran, call, request, approve, approvalsApi } = anApprovalSetup({
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
  const overBudget = { input: { amount: 11 } }

  const id = await request(overBudget)
  await approve(id)

  expect(approvalsApi.find(id)?.shown.cost).toContain('2 of 1 calls')
  expect(verdictOf(await call(overBudget))).toBe('done')
  expect(ran).toHaveLength(2)
})

test('explain creates no approval', async () => {
  const { checks, approvalsApi, pay } = anApprovalSetup()
  const approval = checks.find(({ name }) => name === 'approval')
  const verdict = await approval?.decide(aCall({ capability: pay }), 'explain')
  expect(verdict).toMatchObject({ ends: { kind: 'asking' } })
  expect(approvalsApi.list(true)).toEqual([])
})

test('waiting for an approval does not count towards the call timeout', async () => {
  const { clock, call, request, approve } = anApprovalSetup({ rules: { timeout: 50 } })
  await approve(await request())
  clock.pass(30 * second)
  expect(verdictOf(await call())).toBe('done')
})

const binding = { subject: 'ann', method: 'tools/call', name: 'pay', input: { amount: 10 } }
const aKey = () => Uint8Array.from({ length: 32 }, (_, index) => index)

/** Opens a sealed state and returns `accepted` or the error text. */
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
const stateError = '-32602 Invalid or expired requestState'

const aSealedState = () =>
  createRequestStates(aKey(), aClock().now).seal({ approval: 'A', note: 'secret words' }, binding)

test('a request state opens for its call and is unreadable to the client', async () => {
  const states = createRequestStates(aKey(), aClock().now)
  const sealed = await aSealedState()
  expect(await states.open(sealed, binding)).toEqual({ approval: 'A', note: 'secret words' })
  const parts = sealed.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
  expect(parts.join()).not.toMatch(/secret|approval|ann/)
})

const damagedStates = amount(2_000, 20_000)

test(`${damagedStates} states with one flipped bit are rejected with the same error`, async () => {
  const sealed = await aSealedState()
  const results = new Map<string, number>()
  for (let bit = 0; bit < damagedStates; bit++) {
    const bytes = Buffer.from(sealed)
    const index = bit % bytes.length
    bytes[index] = (bytes[index] as number) ^ (1 << (Math.floor(bit / bytes.length) % 8))
    const word = await open(bytes.toString('latin1'))
    results.set(word, (results.get(word) ?? 0) + 1)
  }
  expect([...results]).toEqual([[stateError, damagedStates]])
})

test('a state with a flipped bit in any decoded part is rejected', async () => {
  const sealed = (await aSealedState()).split('.')
  const results = new Set<string>()
  for (const [index, part] of sealed.entries()) {
    const bytes = Buffer.from(part, 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7))
      results.add(await open(sealed.with(index, flipped.toString('base64url')).join('.')))
    }
  }
  expect([...results]).toEqual([stateError])
})

test('a truncated, extended, spliced or made-up state is rejected', async () => {
  const sealed = await aSealedState()
  const other = (await createRequestStates(aKey(), aClock().now).seal({}, binding)).split('.')
  const parts = sealed.split('.')
  const forged = [
    ...Array.from({ length: sealed.length }, (_, length) => sealed.slice(0, length)),
    ...Array.from({ length: sealed.length }, (_, from) => sealed.slice(from + 1)),
    ...parts
      .map((_, index) => parts.with(index, other[index] as string).join('.'))
      .filter((mixed) => mixed !== sealed),
    ...['A', '.', ' ', '\n', '=', '\0', '.A'].flatMap((extra) => [sealed + extra, extra + sealed]),
    toHeader({ alg: 'none' }) + sealed.slice(sealed.indexOf('.')),
    `${toHeader({ alg: 'none' })}.${toHeader({ for: 'x', exp: 9e9 })}.`,
    `${toHeader({ alg: 'dir', enc: 'A128GCM' })}${sealed.slice(sealed.indexOf('.'))}`,
    `v2.${sealed}`,
    '{}',
    'null',
    '',
  ]
  const results = new Set<string>()
  for (const one of forged) results.add(await open(one))
  expect([...results]).toEqual([stateError])
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
])('a state is rejected for %s without saying why', async (_, changed) => {
  const sealed = await aSealedState()
  expect(await open(sealed)).toBe('accepted')
  expect(await open(sealed, changed)).toBe(stateError)
})

test('a state is valid for just under ten minutes and for arguments in canonical form', async () => {
  const sealed = await aSealedState()
  const now = () => aClock().now() + 10 * minute - second
  expect(await open(sealed, { now, input: JSON.parse('{ "amount": 1e1 }') })).toBe('accepted')
})
