import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Call } from '../../src/capability/call.ts'
import { localUser } from '../../src/capability/caller.ts'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { done } from '../../src/capability/outcome.ts'
import { StorageError } from '../../src/capability/storage-error.ts'
import { permits } from '../../src/governance/permits.ts'
import type { OperatorFailure } from '../../src/governance/steps/record-audit.ts'
import { aCall, aCaller, aCapability, aContract, aPipeline } from '../support/builders.ts'

test('a caller without the scope never reaches the capability, and the refusal is audited', async () => {
  const reached: Call[] = []
  const refund = aCapability({
    rules: { permissions: ['orders:write', 'money:move'] },
    invoke: async (call) => {
      reached.push(call)
      return done({})
    },
  })
  const { govern, readAudit } = aPipeline()

  const outcome = await govern(aCall({ capability: refund, caller: aCaller(['orders:read']) }))

  expect(outcome).toMatchObject({
    kind: 'failed',
    failure: { code: 'insufficient_scope', details: { missing: ['orders:write', 'money:move'] } },
  })
  expect(reached).toEqual([])
  expect(await readAudit()).toMatchObject([{ outcome: 'failed', code: 'insufficient_scope' }])
})

test.each([
  [['orders:read'], 'orders:read', true],
  [['orders:*'], 'orders:read', true],
  [['orders:*'], 'orders:items:read', true],
  [['*'], 'orders:read', true],
  [['docs.*'], 'docs.read', true],
  [['docs.*'], 'docs.read.all', true],
  [['docs.*'], 'docs.read:all', true],
  [['docs.read.*'], 'docs.read.all', true],
  [['a.b:*'], 'a.b:read', true],
  [['a.b:*'], 'a.b:read.all', true],
  [['a.*'], 'a.b:read', true],
  [['docs.*'], 'docs', false],
  [['docs.*'], 'docs.', false],
  [['docs.*'], 'docs:read', false],
  [['docs:*'], 'docs.read', false],
  [['docs.*'], 'docstore.read', false],
  [['doc*'], 'docs.read', false],
  [['docs.re*'], 'docs.read', false],
  [['*.read'], 'docs.read', false],
  [['a.b:*'], 'a.bc:read', false],
  [['.*'], 'docs.read', false],
  [['orders:read'], 'orders:write', false],
  [['orders:read:*'], 'orders:read', false],
  [['order:*'], 'orders:read', false],
  [['orders'], 'orders:read', false],
  [[], 'orders:read', false],
])('scopes %j for permission %s: %s', (scopes, permission, expected) => {
  const capability = aCapability({ rules: { permissions: [permission] } })
  expect(permits(aCaller(scopes), capability)).toBe(expected)
})

test('the local user holds every scope', () => {
  expect(permits(localUser, aCapability({ rules: { permissions: ['anything'] } }))).toBe(true)
})

test('invalid input is refused with every invalid path, and valid input arrives parsed', async () => {
  const inputs: unknown[] = []
  const capability = aCapability({
    input: aContract(z.object({ n: z.number(), unit: z.string().default('m') })),
    invoke: async ({ input }) => {
      inputs.push(input)
      return done(input)
    },
  })
  const { govern } = aPipeline()

  const invalidOutcome = await govern(aCall({ capability, input: { n: 'x', unit: 3 } }))
  await govern(aCall({ capability, input: { n: 1 } }))

  expect(invalidOutcome).toMatchObject({
    failure: {
      code: 'invalid_input',
      fixedBy: 'model',
      retryable: true,
      message: expect.stringMatching(/\/n.*\n.*\/unit/),
    },
  })
  expect(inputs).toEqual([{ n: 1, unit: 'm' }])
})

test('a call past its timeout is aborted through its signal and answered in time', async () => {
  const onAbort = vi.fn()
  const { govern } = aPipeline()
  const slow = aCapability({
    rules: { timeout: 20 },
    invoke: ({ cancellation }) => {
      cancellation.signal.addEventListener('abort', onAbort)
      return new Promise(() => {})
    },
  })

  const outcome = await govern(aCall({ capability: slow }))

  expect(outcome).toMatchObject({ failure: { code: 'timed_out', retryable: true } })
  expect(onAbort).toHaveBeenCalledOnce()
})

test('a timed-out write is not reported as retryable', async () => {
  const effects = { writes: true, irreversible: true, repeatable: false, reachesOut: true }
  const invoke = () => new Promise<never>(() => {})
  const capability = aCapability({ effects, invoke, rules: { timeout: 5 } })

  const outcome = await aPipeline().govern(aCall({ capability }))

  expect(outcome).toMatchObject({
    failure: { retryable: false, message: expect.stringContaining('not known') },
  })
})

test('cancelling a call ends it at once', async () => {
  const cancellation = new Cancellation()
  const capability = aCapability({ invoke: () => new Promise(() => {}) })
  const pending = aPipeline().govern(aCall({ capability, cancellation }))

  cancellation.cancel('The client left.')

  expect(await pending).toMatchObject({ failure: { code: 'cancelled' } })
})

test('a call cancelled before it starts never reaches the capability', async () => {
  const invoke = vi.fn(async () => done({}))
  const cancellation = new Cancellation()
  cancellation.cancel('The client left.')

  const outcome = await aPipeline().govern(
    aCall({ capability: aCapability({ invoke }), cancellation }),
  )

  expect(outcome).toMatchObject({ failure: { code: 'cancelled' } })
  expect(invoke).not.toHaveBeenCalled()
})

test.each([
  [
    'throws',
    () => {
      throw new Error('password=hunter2')
    },
  ],
  [
    'rejects',
    async () => {
      throw new Error('password=hunter2')
    },
  ],
])(
  'a capability that %s becomes an internal failure without its cause, which only the operator receives',
  async (_, invoke) => {
    const failures: OperatorFailure[] = []
    const { govern } = aPipeline({ onOperatorFailure: (failure) => failures.push(failure) })

    const outcome = await govern(aCall({ capability: aCapability({ invoke: invoke as never }) }))

    expect(outcome).toMatchObject({
      kind: 'failed',
      failure: { code: 'internal', fixedBy: 'operator' },
    })
    expect((outcome as { failure: { message: string } }).failure.message).not.toContain('hunter2')
    expect(failures[0]?.failure.cause).toContain('password=hunter2')
  },
)

test('a result that breaks the output schema is withheld', async () => {
  const capability = aCapability({
    output: aContract(z.object({ n: z.number() }), 'output'),
    invoke: async () => done({ n: 'secret' }),
  })
  expect(await aPipeline().govern(aCall({ capability }))).toMatchObject({
    failure: { code: 'invalid_output', fixedBy: 'operator' },
  })
})

test('properties outside the output schema are removed', async () => {
  const capability = aCapability({
    output: aContract(z.object({ n: z.number() }), 'output'),
    invoke: async () => done({ n: 1, internal: true }),
  })
  expect(await aPipeline().govern(aCall({ capability }))).toMatchObject({ data: { n: 1 } })
  expect(await aPipeline().govern(aCall({ capability }))).not.toMatchObject({
    data: { internal: true },
  })
})

test('an oversized result is refused with advice to filter', async () => {
  const capability = aCapability({ invoke: async () => done({ text: 'x'.repeat(20_000) }) })
  expect(await aPipeline().govern(aCall({ capability }))).toMatchObject({
    failure: { code: 'result_too_large', message: expect.stringContaining('filter') },
  })
})

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic

test.each([
  ['a cycle', cyclic],
  ['a number that is none', { n: Number.NaN }],
  ['an error', { e: new Error('x') }],
])('a result that JSON cannot represent is a failure: %s', async (_, data) => {
  const capability = aCapability({ invoke: async () => done(data) })
  expect(await aPipeline().govern(aCall({ capability }))).toMatchObject({
    failure: { code: 'invalid_output' },
  })
})

test('known secrets are redacted from data and text; short values are not treated as secrets', async () => {
  const { govern } = aPipeline({ secrets: ['s3cret-value', 's3cret-value-longer', 'no'] })
  const capability = aCapability({
    invoke: async () => ({
      kind: 'done',
      data: { nested: ['key=s3cret-value!', 'no'], untouched: 1 },
      content: [{ type: 'text', text: 's3cret-value-longer' }],
    }),
  })

  expect(await govern(aCall({ capability }))).toEqual({
    kind: 'done',
    data: { nested: ['key=[withheld]!', 'no'], untouched: 1 },
    content: [{ type: 'text', text: '[withheld]' }],
  })
})

test('a storage error thrown by a capability leaves the outcome unknown: the call may have had an effect', async () => {
  const { govern } = aPipeline()
  let runs = 0
  const pay = aCapability({
    effects: { writes: true, irreversible: true, repeatable: false, reachesOut: true },
    invoke: () => {
      runs++
      throw new StorageError('the disk of the upstream is full')
    },
  })

  const outcomes = [
    await govern(aCall({ capability: pay })),
    await govern(aCall({ capability: pay })),
  ]

  expect(outcomes).toMatchObject([
    { failure: { code: 'internal' } },
    { failure: { code: 'possible_duplicate' } },
  ])
  expect(runs).toBe(1)
})

test('arguments that JSON does not have are left out of the audit, and the other entries are kept', async () => {
  const { govern, readAudit } = aPipeline()
  const capability = aCapability({ rules: { recordArguments: true } })

  await Promise.all([1n, 2, 3].map((value) => govern(aCall({ capability, input: { value } }))))

  expect((await readAudit()).map((entry) => entry.arguments)).toEqual([
    undefined,
    { value: 2 },
    { value: 3 },
  ])
})
