import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { type CallAnswer, personAnswers } from '../support/client-kinds.ts'
import { countingTools } from '../support/counting-tools.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

interface Case {
  readonly tool: string
  /** Number of calls; the policy objects to the last one. */
  readonly calls: number
  readonly refusal: string
  readonly step: string
  readonly observed: object
}

const wouldRefuse = (code: string) => ({ decision: 'would_refuse', code })
const wouldAsk = { decision: 'would_ask' }

// biome-ignore-start format: table
const cases: Record<string, Case> = {
  'a missing scope': {
    tool: 'scoped',
    calls: 1,
    step: 'permissions',
    refusal: 'insufficient_scope',
    observed: wouldRefuse('insufficient_scope'),
  },
  'too many calls': {
    tool: 'hasty',
    calls: 2,
    step: 'rate',
    refusal: 'rate_limited',
    observed: wouldRefuse('rate_limited'),
  },
  'a missing key': {
    tool: 'charge',
    calls: 1,
    step: 'key',
    refusal: 'idempotency_key_required',
    observed: wouldRefuse('idempotency_key_required'),
  },
  'an exceeded budget': {
    tool: 'metered',
    calls: 2,
    step: 'budget',
    refusal: 'budget_exceeded',
    observed: wouldRefuse('budget_exceeded'),
  },
  'a budget that needs a human': {
    tool: 'agreed',
    calls: 6,
    step: 'approval',
    refusal: 'approval_denied',
    observed: wouldAsk,
  },
  'a missing approval': {
    tool: 'pay',
    calls: 1,
    step: 'approval',
    refusal: 'approval_denied',
    observed: wouldAsk,
  },
}
// biome-ignore-end format: table

interface AuditRecord {
  readonly call: string
  readonly event: string
  readonly capability: string
  readonly outcome?: string
  readonly decisions?: readonly { readonly step: string; readonly decision: string }[]
}

interface Session {
  readonly site: Site
  readonly answers: Record<string, readonly CallAnswer[]>
  readonly shown: readonly string[]
  readonly audit: readonly AuditRecord[]
}

const sessions: Record<string, Session> = {}

beforeAll(async () => {
  await Promise.all(
    ['observe', 'enforce'].map(async (mode) => {
      sessions[mode] = await makeCalls(mode)
    }),
  )
  return () => Promise.all(Object.values(sessions).map(({ site }) => site.close()))
})

/** Makes the same calls under one policy mode and returns the answers and the audit. */
async function makeCalls(mode: string): Promise<Session> {
  const site = await Site.open({
    'drawbridge.yaml': `name: acme
sources:
  - definitions: ./tools/*.ts
policy:
  mode: ${mode}
  rules:
    - { match: scoped, permissions: [orders:write] }
    - { match: hasty, rates: [{ calls: 1, seconds: 3600 }] }
    - { match: charge, idempotencyKey: true }
    - { match: metered, budgets: [{ limit: 1 }] }
    - { match: agreed, budgets: [{ limit: 5 }] }
    - { match: pay, approval: true }
${httpWithTokens({ subject: 'bob', scopes: [] })}`,
    'tools/all.ts': countingTools(...Object.values(cases).map(({ tool }) => ({ name: tool })), {
      name: 'free',
    }),
  })
  const server = await site.serve()
  const client = await site.connect('2026 over HTTP', {
    headers: asBearer('bob'),
    person: () => personAnswers.no,
  })
  const answers: Record<string, CallAnswer[]> = {}
  const call = async (tool: string, input: Record<string, unknown>, key?: string) => {
    const meta = key === undefined ? {} : { 'idempotency-key': key }
    answers[tool] = [...(answers[tool] ?? []), await client.call(tool, input, { meta })]
  }
  for (const { tool, calls } of Object.values(cases))
    for (let time = 0; time < calls; time++) await call(tool, { order: String(time) })
  await call('free', { order: 7 })
  await call('free', { order: 'once' }, 'k')
  await call('free', { order: 'once' }, 'k')
  await site.stop(server)
  return { site, answers, shown: client.shown, audit: await site.json('audit') }
}

const recordOf = ({ audit, answers }: Session, tool: string): AuditRecord | undefined =>
  audit.findLast(
    ({ event, call }) => event === 'end' && call === answers[tool]?.at(-1)?.meta['call-id'],
  )

describe('policy mode "observe"', () => {
  test.each(Object.entries(cases))('%s is recorded and stops nothing', (_, testCase) => {
    const session = sessions.observe as Session
    const answers = session.answers[testCase.tool] ?? []

    expect(answers.map(({ verdict }) => verdict)).toEqual(Array(testCase.calls).fill('done'))
    expect(session.site.runsOf(testCase.tool)).toHaveLength(testCase.calls)
    expect(recordOf(session, testCase.tool)).toMatchObject({
      outcome: 'done',
      decisions: expect.arrayContaining([
        expect.objectContaining({ step: testCase.step, ...testCase.observed }),
      ]),
    })
  })

  test('a call without violations is recorded without decisions', () => {
    const session = sessions.observe as Session
    const [first] = session.answers.metered ?? []

    const record = session.audit.findLast(({ call }) => call === first?.meta['call-id'])

    expect(record).toMatchObject({ event: 'end', outcome: 'done' })
    expect(record?.decisions).toBeUndefined()
  })

  test('no approval is requested', async () => {
    const { site, shown } = sessions.observe as Session

    expect(shown).toEqual([])
    expect(await site.json('approvals', 'list', '--all')).toEqual([])
  })

  test('invalid input is still refused, and keys still prevent repeats', () => {
    const { answers, site } = sessions.observe as Session

    expect(answers.free?.map(({ verdict }) => verdict)).toEqual(['invalid_input', 'done', 'done'])
    expect(site.runsOf('free')).toHaveLength(1)
  })
})

describe('policy mode "enforce"', () => {
  test.each(Object.entries(cases))('%s stops the same call', (_, testCase) => {
    const session = sessions.enforce as Session
    const verdicts = (session.answers[testCase.tool] ?? []).map(({ verdict }) => verdict)

    expect(verdicts).toEqual([...Array(testCase.calls - 1).fill('done'), testCase.refusal])
    expect(session.site.runsOf(testCase.tool)).toHaveLength(testCase.calls - 1)
  })
})
