import { beforeAll, describe, expect, test } from 'vitest'
import { Site } from '../support/a-site.ts'
import { countingTools } from '../support/counting-tools.ts'
import { type Answered, says } from '../support/doors.ts'
import { asBearer, httpWithTokens } from '../support/tokens.ts'

interface Case {
  readonly tool: string
  /** How often it is called; policy objects to the last time. */
  readonly calls: number
  readonly refusal: string
  readonly step: string
  readonly observed: object
}

const refuses = (code: string) => ({ decision: 'would_refuse', code })
const asks = { decision: 'would_ask' }

// biome-ignore-start format: table
const cases: Record<string, Case> = {
  'a missing scope': {
    tool: 'scoped',
    calls: 1,
    step: 'permissions',
    refusal: 'insufficient_scope',
    observed: refuses('insufficient_scope'),
  },
  'too many calls': {
    tool: 'hasty',
    calls: 2,
    step: 'rate',
    refusal: 'rate_limited',
    observed: refuses('rate_limited'),
  },
  'a missing key': {
    tool: 'charge',
    calls: 1,
    step: 'key',
    refusal: 'idempotency_key_required',
    observed: refuses('idempotency_key_required'),
  },
  'an exceeded budget': {
    tool: 'metered',
    calls: 2,
    step: 'budget',
    refusal: 'budget_exceeded',
    observed: refuses('budget_exceeded'),
  },
  'a budget that needs a human': {
    tool: 'agreed',
    calls: 6,
    step: 'approval',
    refusal: 'approval_denied',
    observed: asks,
  },
  'a missing approval': {
    tool: 'pay',
    calls: 1,
    step: 'approval',
    refusal: 'approval_denied',
    observed: asks,
  },
}
// biome-ignore-end format: table

interface Record_ {
  readonly call: string
  readonly event: string
  readonly capability: string
  readonly outcome?: string
  readonly decisions?: readonly { readonly step: string; readonly decision: string }[]
}

interface Played {
  readonly site: Site
  readonly answers: Record<string, readonly Answered[]>
  readonly shown: readonly string[]
  readonly audit: readonly Record_[]
}

const played: Record<string, Played> = {}

beforeAll(async () => {
  await Promise.all(
    ['observe', 'enforce'].map(async (mode) => {
      played[mode] = await play(mode)
    }),
  )
  return () => Promise.all(Object.values(played).map(({ site }) => site.close()))
})

/** The same day at the office under one mode or the other, and what the audit says of it. */
async function play(mode: string): Promise<Played> {
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
    person: () => says.no,
  })
  const answers: Record<string, Answered[]> = {}
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

const recordOf = ({ audit, answers }: Played, tool: string): Record_ | undefined =>
  audit.findLast(
    ({ event, call }) => event === 'end' && call === answers[tool]?.at(-1)?.meta['call-id'],
  )

describe('where policy observes', () => {
  test.each(Object.entries(cases))('%s stops nothing, and is written down', (_, one) => {
    const observing = played.observe as Played
    const answers = observing.answers[one.tool] ?? []

    expect(answers.map(({ verdict }) => verdict)).toEqual(Array(one.calls).fill('done'))
    expect(observing.site.ran(one.tool)).toHaveLength(one.calls)
    expect(recordOf(observing, one.tool)).toMatchObject({
      outcome: 'done',
      decisions: expect.arrayContaining([
        expect.objectContaining({ step: one.step, ...one.observed }),
      ]),
    })
  })

  test('what policy has nothing against is written down without a word', () => {
    const observing = played.observe as Played
    const [first] = observing.answers.metered ?? []

    const record = observing.audit.findLast(({ call }) => call === first?.meta['call-id'])

    expect(record).toMatchObject({ event: 'end', outcome: 'done' })
    expect(record?.decisions).toBeUndefined()
  })

  test('nobody is asked anything, and nothing waits for an approval', async () => {
    const { site, shown } = played.observe as Played

    expect(shown).toEqual([])
    expect(await site.json('approvals', 'list', '--all')).toEqual([])
  })

  test('nothing invalid runs all the same, and nothing runs twice', () => {
    const { answers, site } = played.observe as Played

    expect(answers.free?.map(({ verdict }) => verdict)).toEqual(['invalid_input', 'done', 'done'])
    expect(site.ran('free')).toHaveLength(1)
  })
})

describe('where policy is enforced', () => {
  test.each(Object.entries(cases))('%s stops the same call', (_, one) => {
    const enforcing = played.enforce as Played
    const verdicts = (enforcing.answers[one.tool] ?? []).map(({ verdict }) => verdict)

    expect(verdicts).toEqual([...Array(one.calls - 1).fill('done'), one.refusal])
    expect(enforcing.site.ran(one.tool)).toHaveLength(one.calls - 1)
  })
})
