import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { Call } from '../../src/capability/call.ts'
import type { Capability } from '../../src/capability/capability.ts'
import { done, type Outcome } from '../../src/capability/outcome.ts'
import { defaultThresholds, type Rules } from '../../src/capability/rules.ts'
import { explainCall } from '../../src/governance/explain.ts'
import { createDrawbridge, defineTool, definitionSource, z } from '../../src/index.ts'
import { movesMoney, verdictOf } from '../support/a-payment.ts'
import { aCall, aCaller, aCapability, aPipeline } from '../support/builders.ts'

const aBudget = (limit: number) => ({
  id: 'b',
  unit: 'calls',
  limit,
  per: 'caller' as const,
  window: 'day' as const,
  thresholds: defaultThresholds,
})

/** A capability with any combination of rules, and a call that may break each of them. */
const governedCall = fc
  .record({
    writes: fc.boolean(),
    repeatable: fc.boolean(),
    permissions: fc.subarray(['orders:read', 'orders:write']),
    approval: fc.boolean(),
    idempotencyKey: fc.boolean(),
    // Above the stop threshold, above the reauthorise threshold with 1 of 0.9, and far below both.
    budgets: fc.subarray([aBudget(0), { ...aBudget(0.9), id: 'c' }, { ...aBudget(100), id: 'd' }]),
    cost: fc.option(fc.constant({ amount: 1, unit: 'EUR' }), { nil: undefined }),
    rates: fc.subarray([
      { id: 'r', calls: 1e-9, seconds: 1 },
      { id: 's', calls: 5, seconds: 60 },
    ]),
    key: fc.option(fc.constantFrom('k1', '', 'x'.repeat(300)), { nil: undefined }),
    expectedFingerprint: fc.option(fc.constantFrom('f0', 'f1'), { nil: undefined }),
  })
  .map(({ writes, repeatable, key, expectedFingerprint, cost, ...rules }): Call => {
    const capability = aCapability({
      effects: { ...movesMoney, writes, repeatable },
      rules: { ...rules, ...(cost && { cost }) },
    })
    const caller = aCaller(['orders:read'])
    return aCall({ capability, caller, idempotencyKey: key, expectedFingerprint })
  })

test.each([
  ['enforced', false],
  ['observed', true],
])(
  'a call meets every check that explain names, whatever its rules: %s',
  async (_, observeOnly) => {
    const settings = { observeOnly, windows: { keyMs: 1000, duplicateMs: 1000 } }
    await fc.assert(
      fc.asyncProperty(governedCall, async (call) => {
        const { govern, checks, readAudit } = aPipeline({ settings })
        const explained = await explainCall(checks, call)
        const stops = explained.filter(({ would }) => would !== 'pass')
        const isEnforced = (step: string) =>
          !observeOnly || checks.find(({ name }) => name === step)?.enforcedWhenObserving === true
        const end = stops.findIndex(({ step }) => isEnforced(step))
        const met = end < 0 ? stops : stops.slice(0, end + 1)

        const outcome = await govern(call)

        const last = end < 0 ? undefined : stops[end]
        const expected = last?.would === 'ask' ? 'approval_required' : (last?.code ?? 'done')
        expect(verdictOf(outcome)).toBe(expected)
        const { decisions = [] } = (await readAudit()).at(-1) ?? {}
        const refusals = decisions.filter(({ decision }) => decision !== 'allowed')
        expect(refusals.map(({ step }) => step)).toEqual(met.map(({ step }) => step))
      }),
      { numRuns: process.env.SOAK === undefined ? 150 : 5000 },
    )
  },
)

test('a capability without rules has no step that depends on time, budgets or approvals', async () => {
  const { govern, ledger } = aPipeline()
  const findDoubt = vi.spyOn(ledger.clock, 'findDoubt')
  const spent = vi.spyOn(ledger.read, 'spent')
  const write = vi.spyOn(ledger, 'write')
  const plain = aCapability()
  const withBudget = aCapability({ rules: { budgets: [aBudget(100)] } })

  await govern(aCall({ capability: plain }))
  const plainCounts = [findDoubt, spent, write].map(({ mock }) => mock.calls.length)
  await govern(aCall({ capability: withBudget }))
  const budgetCounts = [findDoubt, spent, write].map(({ mock }) => mock.calls.length)

  expect(plainCounts).toEqual([0, 0, 0])
  expect(budgetCounts.every((count) => count > 0)).toBe(true)
})

test('rules that a policy adds at run time apply to a capability that was called before', async () => {
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    category: 'read',
    schema: z.object({}),
    execute: () => 'found',
  })
  const sources = [definitionSource([look])]
  const bridge = createDrawbridge({ sources })
  const codeOf = async (options = {}) => {
    const { _meta } = await bridge.call('look', {}, options)
    return (_meta?.['dev.drawbridge/failure'] as { code: string } | undefined)?.code ?? 'done'
  }
  const thresholds = { alert: 100, reauthorise: 100, stop: 100 }
  const budget = { limit: 1, unit: 'calls', per: 'caller', window: 'day', thresholds } as const
  const withRule = (rule: object) =>
    bridge.replace(sources, undefined, { rules: [{ match: 'look', ...rule }] })
  const caller = aCaller([])
  const before = [await codeOf(), await codeOf()]

  await withRule({ budgets: [budget] })
  const withBudget = [await codeOf(), await codeOf()]
  await withRule({ approval: true })
  const withApproval = await codeOf()
  await withRule({ rates: [{ calls: 1, seconds: 600 }] })
  const withRate = [await codeOf(), await codeOf()]
  await withRule({ permissions: ['look:up'] })
  const withPermission = await bridge.call('look', {}, { caller }).catch(String)
  await bridge.replace(sources, undefined, {})
  const after = await codeOf({ caller })
  await bridge.close()

  expect(before).toEqual(['done', 'done'])
  expect(withBudget).toEqual(['done', 'budget_exceeded'])
  expect(withApproval).toBe('approval_required')
  expect(withRate).toEqual(['done', 'rate_limited'])
  expect(JSON.stringify(withPermission)).toContain('look:up')
  expect(after).toBe('done')
})

test('a call gives its place back however it ends', async () => {
  const settings = { concurrency: { perCaller: 1, total: 1 } }
  const { govern } = aPipeline({ settings })
  const thrown = () => {
    throw new Error('a bug')
  }
  const capabilities: readonly { invoke?: Capability['invoke']; rules?: Partial<Rules> }[] = [
    { invoke: thrown },
    { invoke: async () => thrown() },
    { invoke: () => new Promise(() => {}), rules: { timeout: 5 } },
    { rules: { permissions: ['money:move'] } },
    { rules: { rates: [{ id: 'r', calls: 1e-9, seconds: 1 }] } },
    { rules: { approval: true } },
    { rules: { budgets: [aBudget(0)] } },
  ]
  const outcomes: Outcome[] = []
  for (const parts of capabilities)
    outcomes.push(await govern(aCall({ capability: aCapability(parts) })))

  const last = await govern(aCall())

  expect(outcomes.map(verdictOf)).toEqual([
    'internal',
    'internal',
    'timed_out',
    'insufficient_scope',
    'rate_limited',
    'approval_required',
    'budget_exceeded',
  ])
  expect(verdictOf(last)).toBe('done')
})

test('an outcome without a promise, as plain JavaScript may return it, is accepted', async () => {
  const invoke = (() => done({ n: 1 })) as object as Capability['invoke']

  const outcome = await aPipeline().govern(aCall({ capability: aCapability({ invoke }) }))

  expect(outcome).toMatchObject({ kind: 'done', data: { n: 1 } })
})
