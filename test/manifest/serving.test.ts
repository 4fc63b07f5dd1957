import http, { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type Caller,
  createDrawbridge,
  type Drawbridge,
  defineTool,
  definitionSource,
  type ManifestSourceOptions,
  manifestSource,
  z,
} from '../../src/index.ts'
import {
  aManifest,
  anInterface,
  anInternalInterface,
  answering,
  aWritingCapability,
  type Fields,
  type ManifestParts,
  type ServeParts,
  serveManifest,
  toolNames,
  toYaml,
} from '../support/a-manifest.ts'
import { aProject } from '../support/a-project.ts'
import { Site } from '../support/a-site.ts'
import { atMost } from '../support/amount.ts'
import {
  clientKinds,
  type OfficialClient,
  type PersonAnswer,
  personAnswers,
} from '../support/client-kinds.ts'
import { asBearer, httpWithTokens, tokenOf } from '../support/tokens.ts'

type Handlers = NonNullable<ManifestSourceOptions['handlers']>

const withIdempotencyKey = (key: string) => ({ meta: { 'dev.drawbridge/idempotency-key': key } })
const asSubject = (subject: string): { caller: Caller } => ({ caller: { subject, scopes: 'all' } })

/** Returns `done`, or the failure code. */
async function verdictOf(call: ReturnType<Drawbridge['call']>): Promise<string> {
  const { isError, _meta } = await call
  const failure = _meta?.['dev.drawbridge/failure'] as { code: string } | undefined
  return failure?.code ?? (isError ? 'error' : 'done')
}

describe('a handler', () => {
  const returnFound = () => ({ found: true })

  test.each<[string, Handlers]>([
    ['by capability id', { 'look-up-order': returnFound }],
    ['by the camelCase form of the id', { lookUpOrder: returnFound }],
    [
      'in a default export, by capability id',
      { default: { 'look-up-order': returnFound } } as never,
    ],
    [
      'in a default export, by the camelCase form of the id',
      { default: { lookUpOrder: returnFound } } as never,
    ],
  ])('is resolved %s', async (_, handlers) => {
    const bridge = await serveManifest(aManifest(), { handlers })

    expect(await bridge.call('look-up-order')).toMatchObject({ structuredContent: { found: true } })
  })

  test('is loaded from the exports of the module named in the configuration', async () => {
    const site = await Site.open({
      'drawbridge.yaml':
        'sources: [{ manifest: agent.yaml, handlers: ./handlers.ts, prefix: desk }]\n',
      'agent.yaml': toYaml(
        aManifest({ capabilities: [{ id: 'one' }, { id: 'number-two' }, { id: 'three' }] }),
      ),
      'handlers.ts': `export const one = () => ({ is: 'one' })
export const numberTwo = async (input: { a: string }) => ({ is: 'two', given: input })
export default { three: () => ({ is: 'three' }) }
`,
    })
    onTestFinished(() => site.close())
    const answers = await Promise.all(
      ['desk_one', 'desk_number-two', 'desk_three'].map((name) =>
        site.run('call', '.', name, '{"a":"b"}'),
      ),
    )

    expect(answers.map(({ stdout }) => JSON.parse(stdout))).toEqual([
      { is: 'one' },
      { is: 'two', given: { a: 'b' } },
      { is: 'three' },
    ])
  })

  test('receives the caller, the idempotency key and an abort signal', async () => {
    const contexts: Fields[] = []
    const manifest = aManifest({ capabilities: [aWritingCapability()] })
    const bridge = await serveManifest(manifest, {
      handlers: {
        'refund-order': (_, { caller, idempotencyKey, signal }) => {
          contexts.push({ caller, idempotencyKey, aborted: signal.aborted })
          return {}
        },
      },
    })

    await bridge.call('refund-order', {}, { ...asSubject('ann'), ...withIdempotencyKey('k1') })

    expect(contexts).toEqual([{ caller: { subject: 'ann' }, idempotencyKey: 'k1', aborted: false }])
  })

  test('that throws fails the call without leaking the error message', async () => {
    const bridge = await serveManifest(aManifest(), {
      handlers: { lookUpOrder: () => Promise.reject(new Error('at 10.0.0.7')) },
    })
    const result = await bridge.call('look-up-order')

    expect(result.isError).toBe(true)
    expect(JSON.stringify(result)).not.toContain('10.0.0.7')
  })

  test('whose result violates the output schema fails the call', async () => {
    const output_schema = { type: 'object', required: ['found'] }
    const manifest = aManifest({ capabilities: [{ output_schema }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await bridge.call('look-up-order')).toMatchObject({ isError: true })
  })

  test('that is missing omits only its capability, with a diagnostic', async () => {
    const manifest = aManifest({
      capabilities: [{ id: 'there' }, { id: 'missing' }],
      interfaces: [anInternalInterface()],
    })
    const bridge = await serveManifest(manifest, { handlers: { there: () => ({}) } })

    expect(await toolNames(bridge)).toEqual(['there'])
    expect(bridge.diagnostics).toContainEqual(
      expect.objectContaining({
        code: 'route_missing',
        severity: 'error',
        pointer: '/capabilities/1',
      }),
    )
  })
})

describe('the list of served tools', () => {
  const manifest = aManifest({
    capabilities: [
      {},
      { id: 'inside', protocols: ['INTERNAL'] },
      { id: 'api', protocols: ['HTTP'] },
    ],
    interfaces: [anInterface(), anInternalInterface(), anInterface({ protocol: 'HTTP' })],
  })

  test('contains the MCP capabilities, and every capability with all: true', async () => {
    const handlers = answering(manifest)
    const mcpBridge = await serveManifest(manifest, { handlers })
    const fullBridge = await serveManifest(manifest, { handlers, all: true })

    expect(await toolNames(mcpBridge)).toEqual(['look-up-order'])
    expect(await toolNames(fullBridge)).toEqual(['api', 'inside', 'look-up-order'])
  })

  test('uses the prefix of the source', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest), prefix: 'desk' })

    expect(await toolNames(bridge)).toEqual(['desk_look-up-order'])
    expect(await verdictOf(bridge.call('desk_look-up-order'))).toBe('done')
  })
})

describe('an MCP interface whose capability runs in a local handler', () => {
  const privilegedInterface = anInterface({
    privileged: true,
    permissions: ['desk.enter'],
    rate_limit: { requests_per_minute: 2 },
  })
  const manifest = aManifest({
    interfaces: [privilegedInterface, anInternalInterface()],
    policy: { high_risk_approval_required: false },
  })

  test('enforces its permissions', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const caller: Caller = { subject: 'ann', scopes: new Set() }

    await expect(bridge.call('look-up-order', {}, { caller })).rejects.toMatchObject({
      data: { code: 'insufficient_scope' },
    })
  })

  test('enforces its rate limit', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const verdicts = [1, 2, 3].map(() => verdictOf(bridge.call('look-up-order')))

    expect(await Promise.all(verdicts)).toEqual(['done', 'done', 'rate_limited'])
  })
})

describe('the rate limit of an interface', () => {
  test('is shared by all callers and capabilities of the interface', async () => {
    const manifest = aManifest({
      capabilities: [{ id: 'one' }, { id: 'two' }],
      interfaces: [anInternalInterface({ rate_limit: { requests_per_minute: 3 } })],
    })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const calls = [
      () => bridge.call('one', {}, asSubject('ann')),
      () => bridge.call('two', {}, asSubject('bob')),
      () => bridge.call('one', {}, asSubject('eve')),
      () => bridge.call('two', {}, asSubject('ann')),
      () => bridge.call('one', {}, asSubject('zoe')),
    ]
    const verdicts: string[] = []
    for (const call of calls) verdicts.push(await verdictOf(call()))

    expect(verdicts).toEqual(['done', 'done', 'done', 'rate_limited', 'rate_limited'])
  })
})

describe('the budget', () => {
  const aBudgetedManifest = (budget: Fields, estimated_cost = 3) =>
    aManifest({
      requirements: { budget: { currency: 'EUR', ...budget } },
      capabilities: [{ cost: { mode: 'fixed', estimated_cost, unit: 'EUR' } }],
    })

  test('alerts from 80 %, requires approval from 100 %, and stops calls from 120 % [M14]', async () => {
    const manifest = aBudgetedManifest({ monthly_limit: 11 })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const call = () => bridge.call('look-up-order')

    expect(await call()).not.toMatchObject({
      _meta: { 'dev.drawbridge/budget': expect.anything() },
    })
    expect(await verdictOf(call())).toBe('done')
    expect(await call()).toMatchObject({
      _meta: { 'dev.drawbridge/budget': { state: 'alert', used: 9, limit: 11, unit: 'EUR' } },
    })
    expect(await verdictOf(call())).toBe('approval_required')
    await approve(bridge)
    expect(await verdictOf(call())).toBe('done')
    expect(await verdictOf(call())).toBe('budget_exceeded')
  })

  test('is shared by all callers', async () => {
    const manifest = aBudgetedManifest({ monthly_limit: 5.5 })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await verdictOf(bridge.call('look-up-order', {}, asSubject('ann')))).toBe('done')
    expect(await verdictOf(bridge.call('look-up-order', {}, asSubject('bob')))).toBe(
      'approval_required',
    )
  })

  test.each([
    [3.8, 'done'],
    [3.1, 'done'],
    [3, 'approval_required'],
    [2.6, 'approval_required'],
    [2.5, 'budget_exceeded'],
    [2, 'budget_exceeded'],
    [0, 'budget_exceeded'],
  ])('with per_task_limit %d: a call that costs 3 is %s', async (per_task_limit, verdict) => {
    const manifest = aBudgetedManifest({ per_task_limit })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await verdictOf(bridge.call('look-up-order'))).toBe(verdict)
  })
})

test('timeout_seconds times a call out and aborts the handler', async () => {
  let wasAborted = false
  const bridge = await serveManifest(aManifest({ runtime: { timeout_seconds: 1 } }), {
    handlers: {
      lookUpOrder: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            wasAborted = true
            resolve({})
          })
        }),
    },
  })
  const startMs = performance.now()

  expect(await verdictOf(bridge.call('look-up-order'))).toBe('timed_out')
  expect(performance.now() - startMs).toBeGreaterThan(900)
  expect(wasAborted).toBe(true)
})

test('a handler that never settles does not block close()', async () => {
  const folder = await aProject({
    'agent.yaml': toYaml(aManifest({ runtime: { timeout_seconds: 1 } })),
  })
  const handlers = { lookUpOrder: () => new Promise(() => {}) }
  const source = manifestSource(`${folder}/agent.yaml`, { handlers })
  const bridge = createDrawbridge({ sources: [source] })

  expect(await verdictOf(bridge.call('look-up-order'))).toBe('timed_out')
  const closeResult = bridge.close(100).then(() => 'closed')

  expect(await Promise.race([closeResult, timeoutAfter(atMost(3000))])).toBe('closed')
})

describe('a high-risk call', () => {
  test('waits for approval and runs once when approved [M13]', async () => {
    const runs: unknown[] = []
    const manifest = aManifest({
      capabilities: [aWritingCapability({ side_effect_level: 'high' })],
    })
    const bridge = await serveManifest(manifest, {
      handlers: { refundOrder: (input) => ({ run: runs.push(input) }) },
    })
    const call = () =>
      verdictOf(bridge.call('refund-order', { order: 'a' }, withIdempotencyKey('k')))

    expect(await call()).toBe('approval_required')
    expect(runs).toEqual([])
    await approve(bridge)
    expect([await call(), await call()]).toEqual(['done', 'done'])
    expect(runs).toEqual([{ order: 'a' }])
  })

  test('without an idempotency key is refused [M11]', async () => {
    const manifest = aManifest({ capabilities: [aWritingCapability()] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await verdictOf(bridge.call('refund-order'))).toBe('idempotency_key_required')
  })
})

describe('a composition', () => {
  const object = (properties: Record<string, string>, required = Object.keys(properties)) => ({
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, type]) => [name, { type }]),
    ),
    required,
  })
  const find = {
    id: 'find',
    input_schema: object({ order: 'string' }),
    output_schema: object({ order: 'string', amount: 'number' }),
  }
  const tax = {
    id: 'tax',
    input_schema: { ...object({ amount: 'number' }), additionalProperties: false },
    output_schema: object({ tax: 'number' }),
  }
  const note = aWritingCapability({
    id: 'note',
    input_schema: object({ order: 'string', tax: 'number', by: 'string' }),
    output_schema: object({ noted: 'string' }),
  })
  type Step = readonly [id: string, ref: string, onFailure?: string]
  const aComposedManifest = (
    steps: readonly Step[],
    parts: ManifestParts = {},
    type = 'pipeline',
  ) =>
    aManifest({
      capabilities: [find, tax, note],
      composition: {
        type,
        deterministic: true,
        steps: steps.map(([id, capability_ref, on_failure = 'abort']) => ({
          id,
          capability_ref,
          on_failure,
        })),
      },
      ...parts,
    })
  const fullPipeline = [
    ['first', 'find'],
    ['second', 'tax'],
    ['third', 'note'],
  ] as const

  /** Serves the manifest and records each handler run, in order, with its input. */
  async function serveComposition(
    manifest: ReturnType<typeof aManifest>,
    overrides: Handlers = {},
    parts: ServeParts = {},
  ) {
    const runs: [string, unknown][] = []
    const recordRun = (id: string, run: Handlers[string]): Handlers[string] => {
      return (input, context) => {
        runs.push([id, input])
        return run(input, context)
      }
    }
    const defaultHandlers: Handlers = {
      find: (input) => ({ order: (input as { order: string }).order, amount: 100 }),
      tax: (input) => ({ tax: (input as { amount: number }).amount / 5 }),
      note: () => ({ noted: 'yes' }),
      ...overrides,
    }
    const handlers = Object.fromEntries(
      Object.entries(defaultHandlers).map(([id, run]) => [id, recordRun(id, run)]),
    )
    const bridge = await serveManifest(manifest, { handlers, compose: true, ...parts })
    return { bridge, runs }
  }
  const input = { order: 'A-1', by: 'ann' }

  test('is a tool named after the agent, only with compose: true', async () => {
    const { bridge } = await serveComposition(aComposedManifest(fullPipeline))
    const withoutCompose = await serveManifest(aComposedManifest(fullPipeline), {
      handlers: { find: () => ({}), tax: () => ({}), note: () => ({}) },
    })

    expect(await toolNames(bridge)).toEqual(['find', 'note', 'order-desk', 'tax'])
    expect(await toolNames(withoutCompose)).toEqual(['find', 'note', 'tax'])
  })

  test('requires the inputs that no earlier step produces, and the permissions and keys of all steps', async () => {
    const { bridge } = await serveComposition(aComposedManifest(fullPipeline))
    const tool = (await bridge.list()).tools.find(({ name }) => name === 'order-desk')

    expect(tool?.inputSchema.required?.slice().sort()).toEqual(['by', 'order'])
    expect(tool?.annotations).toMatchObject({ readOnlyHint: false })
    expect(tool?._meta?.['dev.drawbridge/rules']).toMatchObject({
      permissions: ['orders.write'],
      idempotencyKey: true,
    })
  })

  test('runs its steps in order, maps outputs to inputs by name, and passes a step only its declared inputs', async () => {
    const { bridge, runs } = await serveComposition(aComposedManifest(fullPipeline))

    const result = await bridge.call('order-desk', input, withIdempotencyKey('k'))

    expect(result).toMatchObject({ structuredContent: { noted: 'yes' } })
    expect(runs).toEqual([
      ['find', { order: 'A-1' }],
      ['tax', { amount: 100 }],
      ['note', { order: 'A-1', tax: 20, by: 'ann' }],
    ])
  })

  test('works under a prefix', async () => {
    const { bridge, runs } = await serveComposition(
      aComposedManifest(fullPipeline),
      {},
      { prefix: 'desk' },
    )

    expect(await verdictOf(bridge.call('desk_order-desk', input, withIdempotencyKey('k')))).toBe(
      'done',
    )
    expect(runs).toHaveLength(3)
  })

  test('stops at a failed step with on_failure: abort', async () => {
    const { bridge, runs } = await serveComposition(aComposedManifest(fullPipeline), {
      tax: () => ({ tax: 'none' }),
    })

    expect(await bridge.call('order-desk', input, withIdempotencyKey('k'))).toMatchObject({
      isError: true,
    })
    expect(runs.map(([id]) => id)).toEqual(['find', 'tax'])
  })

  test('continues after a failed step with on_failure: continue and lists it as skipped', async () => {
    const steps = [
      ['first', 'tax', 'continue'],
      ['second', 'find'],
    ] as const
    const { bridge, runs } = await serveComposition(aComposedManifest(steps), {
      tax: () => Promise.reject(new Error('no')),
    })
    const result = await bridge.call('order-desk', { ...input, amount: 1 }, withIdempotencyKey('k'))

    expect(result.isError).toBeUndefined()
    expect(result.structuredContent).toMatchObject({
      result: { order: 'A-1', amount: 100 },
      skipped: [expect.stringContaining('first')],
    })
    expect(runs.map(([id]) => id)).toEqual(['tax', 'find'])
  })

  test.each([
    [0, ['find']],
    [1, ['find', 'find']],
    [2, ['find', 'find', 'find', 'tax']],
  ])(
    'repeats a step with on_failure: retry up to max_retries %i times',
    async (max_retries, ids) => {
      let failures = 2
      const steps = [
        ['first', 'find', 'retry'],
        ['second', 'tax'],
      ] as const
      const { bridge, runs } = await serveComposition(
        aComposedManifest(steps, { runtime: { max_retries } }),
        {
          find: () =>
            failures-- > 0 ? Promise.reject(new Error('no')) : { order: 'a', amount: 1 },
        },
      )

      await bridge.call('order-desk', input)

      expect(runs.map(([id]) => id)).toEqual(ids)
    },
  )

  test('does not retry a step that is not repeatable', async () => {
    const steps = [
      ['first', 'note', 'retry'],
      ['second', 'find'],
    ] as const
    const { bridge, runs } = await serveComposition(
      aComposedManifest(steps, { runtime: { max_retries: 3 } }),
      {
        note: () => Promise.reject(new Error('no')),
      },
    )

    await bridge.call('order-desk', { ...input, tax: 1 }, withIdempotencyKey('k'))

    expect(runs.map(([id]) => id)).toEqual(['note'])
  })

  test('runs once per idempotency key', async () => {
    const { bridge, runs } = await serveComposition(aComposedManifest(fullPipeline))

    const first = await bridge.call('order-desk', input, withIdempotencyKey('k'))
    const second = await bridge.call('order-desk', input, withIdempotencyKey('k'))

    expect(second.structuredContent).toEqual(first.structuredContent)
    expect(runs.filter(([id]) => id === 'note')).toHaveLength(1)
  })

  test('derives a separate idempotency key for each of two steps of one capability', async () => {
    const steps = [
      ['first', 'note'],
      ['second', 'find'],
      ['third', 'note'],
    ] as const
    const { bridge, runs } = await serveComposition(aComposedManifest(steps), {
      find: () => ({ order: 'A-2', amount: 5 }),
    })

    expect(
      await verdictOf(bridge.call('order-desk', { ...input, tax: 1 }, withIdempotencyKey('k'))),
    ).toBe('done')
    expect(runs.map(([id]) => id)).toEqual(['note', 'find', 'note'])
  })

  test('waits for the approval of a step and resumes without repeating finished steps', async () => {
    const pay = aWritingCapability({ id: 'pay', side_effect_level: 'high' })
    const steps = [
      ['first', 'note'],
      ['second', 'pay'],
      ['third', 'find'],
    ] as const
    const manifest = aComposedManifest(steps, { capabilities: [find, note, pay] })
    const { bridge, runs } = await serveComposition(manifest, { pay: () => ({ paid: true }) })
    const call = () => bridge.call('order-desk', { ...input, tax: 1 }, withIdempotencyKey('k'))

    const first = await call()
    expect(first.isError).toBe(true)
    expect(runs.map(([id]) => id)).toEqual(['note'])
    await approve(bridge)
    const second = await call()

    expect(second).toMatchObject({ structuredContent: { order: 'A-1' } })
    expect(runs.map(([id]) => id)).toEqual(['note', 'pay', 'find'])
  })

  test('is refused before any step runs if the caller lacks the scope of one step', async () => {
    const { bridge, runs } = await serveComposition(aComposedManifest(fullPipeline))
    const caller: Caller = { subject: 'ann', scopes: new Set(['orders.read']) }

    await expect(
      bridge.call('order-desk', input, { caller, ...withIdempotencyKey('k') }),
    ).rejects.toMatchObject({ data: { code: 'insufficient_scope' } })
    expect(runs).toEqual([])
  })

  test('keeps referenced schemas of different files separate', async () => {
    const aReferringCapability = (id: string, name: string) => ({
      id,
      input_schema: { $ref_uri: `${id}.json` },
      output_schema: { type: 'object', title: name },
    })
    const file = (name: string) =>
      JSON.stringify({ type: 'object', properties: { [name]: { $ref: `${name}-part.json` } } })
    const manifest = aComposedManifest(
      [
        ['first', 'one'],
        ['second', 'two'],
      ],
      {
        capabilities: [aReferringCapability('one', 'a'), aReferringCapability('two', 'b')],
      },
    )
    const { bridge, runs } = await serveComposition(
      manifest,
      { one: () => ({}), two: () => ({}) },
      {
        files: {
          'one.json': file('a'),
          'two.json': file('b'),
          'a-part.json': '{"type":"string"}',
          'b-part.json': '{"type":"number"}',
        },
      },
    )

    expect(await verdictOf(bridge.call('order-desk', { a: 'text', b: 1 }))).toBe('done')
    expect(runs).toEqual([
      ['one', { a: 'text' }],
      ['two', { b: 1 }],
    ])
  })

  test.each<[string, string, string, ReturnType<typeof aManifest>]>([
    [
      'a graph',
      'composition_graph',
      '/composition/type',
      aComposedManifest(fullPipeline, {}, 'graph'),
    ],
    ['no composition', 'composition_missing', '', aManifest({ capabilities: [find, tax, note] })],
    [
      'a step whose capability is not served',
      'composition_broken',
      '/composition/steps/1',
      aComposedManifest([
        ['first', 'find'],
        ['second', 'gone'],
      ]),
    ],
  ])(
    'of %s is reported as an error, and the other tools are served',
    async (_, code, pointer, manifest) => {
      const { bridge } = await serveComposition(manifest)

      expect(await toolNames(bridge)).toEqual(['find', 'note', 'tax'])
      expect(bridge.diagnostics).toContainEqual(
        expect.objectContaining({ code, severity: 'error', pointer }),
      )
    },
  )

  test('of two steps with one id is refused: their idempotency keys would collide', async () => {
    const steps = [
      ['same', 'note'],
      ['same', 'note'],
    ] as const
    const { bridge } = await serveComposition(aComposedManifest(steps))

    expect(await toolNames(bridge)).toEqual(['find', 'note', 'tax'])
    expect(bridge.diagnostics.map(({ code }) => code)).toContain('step_duplicate')
  })
})

interface Request {
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** An HTTP agent that sends the answers in order, repeats the last one, and records its requests. */
async function anAgent(...answers: readonly Answer[]) {
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { status, body: answer } = answers[Math.min(requests.length, answers.length - 1)] ?? {
      status: 200,
      body: {},
    }
    requests.push({ url: request.url ?? '', headers: request.headers, body })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  return { requests, ...(await listenOnFreePort(server)) }
}

async function listenOnFreePort(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

describe('an agent behind HTTP', () => {
  const unavailableAnswer = { status: 503, body: { message: 'later' } }
  const successAnswer = { status: 200, body: { found: true } }
  const anHttpManifest = (endpoint: string, capability: Fields = {}, runtime: Fields = {}) =>
    aManifest({
      capabilities: [{ protocols: ['MCP', 'HTTP'], ...capability }],
      interfaces: [anInterface({ protocol: 'HTTP', endpoint, auth: 'none' })],
      runtime,
    })

  async function openAgent(...answers: readonly Answer[]) {
    const agent = await anAgent(...answers)
    onTestFinished(agent.close)
    return agent
  }

  test('receives the arguments by POST at <endpoint>/<capability id>, and its answer is returned', async () => {
    const agent = await openAgent(successAnswer)
    const bridge = await serveManifest(anHttpManifest(`${agent.url}/api/`))

    const result = await bridge.call('look-up-order', { order: 'A-1' })

    expect(result).toMatchObject({ structuredContent: { found: true } })
    expect(agent.requests).toMatchObject([{ url: '/api/look-up-order', body: '{"order":"A-1"}' }])
  })

  test.each([
    [0, 1, 'upstream_unavailable'],
    [1, 2, 'upstream_unavailable'],
    [2, 3, 'done'],
  ])(
    'that fails twice is retried for a read: max_retries %i makes %i requests',
    async (max_retries, times, verdict) => {
      const agent = await openAgent(unavailableAnswer, unavailableAnswer, successAnswer)
      const bridge = await serveManifest(anHttpManifest(agent.url, {}, { max_retries }))
      const finalVerdict = await verdictOf(bridge.call('look-up-order'))

      expect(agent.requests).toHaveLength(times)
      expect(finalVerdict === 'done').toBe(verdict === 'done')
    },
  )

  test('that fails is not retried for a write that is not idempotent', async () => {
    const agent = await openAgent(unavailableAnswer, successAnswer)
    const capability = aWritingCapability()
    const bridge = await serveManifest(anHttpManifest(agent.url, capability, { max_retries: 5 }))

    expect(await verdictOf(bridge.call('refund-order', {}, withIdempotencyKey('k')))).toBe(
      'outcome_unknown',
    )
    expect(agent.requests).toHaveLength(1)
  })

  test('that fails is retried with the same idempotency key for an idempotent write', async () => {
    const agent = await openAgent(unavailableAnswer, successAnswer)
    const capability = aWritingCapability({ idempotent: true })
    const bridge = await serveManifest(anHttpManifest(agent.url, capability, { max_retries: 1 }))

    expect(await verdictOf(bridge.call('refund-order', {}, withIdempotencyKey('k')))).toBe('done')
    const [first, second] = agent.requests.map(({ headers }) => headers['idempotency-key'])
    expect(first).toBeTruthy()
    expect(second).toBe(first)
  })

  test('receives the secret of the manifest, resolved at call time', async () => {
    const requestedSecrets: string[] = []
    const agent = await openAgent(successAnswer)
    const manifest = aManifest({
      requirements: { secrets: [{ id: 'agents', secret_ref: 'vault://team/desk' }] },
      capabilities: [{ protocols: ['MCP', 'HTTP'] }],
      interfaces: [anInterface({ protocol: 'HTTP', endpoint: agent.url, auth: 'api_key' })],
    })
    const bridge = await serveManifest(manifest, {
      resolveSecret: async (reference) => {
        requestedSecrets.push(reference)
        return 'the-value-of-it'
      },
    })
    await bridge.list()
    expect(requestedSecrets).toEqual([])

    const result = await bridge.call('look-up-order')

    expect(agent.requests[0]?.headers).toMatchObject({ 'x-api-key': 'the-value-of-it' })
    expect(JSON.stringify([result, await bridge.list(), bridge.diagnostics])).not.toContain(
      'the-value-of-it',
    )
  })

  test('is not called when its secret cannot be resolved', async () => {
    const agent = await openAgent(successAnswer)
    const manifest = aManifest({
      requirements: { secrets: [{ id: 'agents', secret_ref: 'env://NOT_SET_ANYWHERE' }] },
      capabilities: [{ protocols: ['MCP', 'HTTP'] }],
      interfaces: [anInterface({ protocol: 'HTTP', endpoint: agent.url, auth: 'signed_jwt' })],
    })
    const bridge = await serveManifest(manifest)

    expect(await bridge.call('look-up-order')).toMatchObject({ isError: true })
    expect(agent.requests).toEqual([])
  })
})

describe('over every transport', () => {
  const clients = new Map<string, OfficialClient>()
  let personAnswer: PersonAnswer = personAnswers.nothing
  let agent: Awaited<ReturnType<typeof anAgent>>
  let site: Site
  const forwardedHeaders: IncomingHttpHeaders[] = []
  const input_schema = { type: 'object', properties: { order: { type: 'string' } } }

  beforeAll(async () => {
    agent = await anAgent({ status: 200, body: { done: true } })
    const upstream = createDrawbridge({ sources: [definitionSource([overMcp])] })
    const { port } = await upstream.listen({ port: 0 })
    const proxy = await aProxy(`http://127.0.0.1:${port}/mcp`, forwardedHeaders)
    site = await Site.open(
      {
        'drawbridge.yaml': `sources:
  - { manifest: agent.yaml, handlers: handlers.ts, all: true, compose: true }
  - { manifest: payments.yaml, handlers: lib/payments.ts, compose: true }
${httpWithTokens({ subject: 'ann', scopes: ['orders.write'] }, { subject: 'bob', scopes: [] })}`,
        'handlers.ts': 'export const inside = ({ order }) => ({ order, seen: true })\n',
        'agent.yaml': toYaml(
          aManifest({
            requirements: { secrets: [{ id: 'http', secret_ref: 'env://DESK_ACCESS' }] },
            capabilities: [
              { id: 'inside' },
              { id: 'over-mcp', protocols: ['MCP'], input_schema },
              { id: 'over-http', protocols: ['HTTP'] },
              aWritingCapability({ id: 'write-http', protocols: ['HTTP'] }),
            ],
            interfaces: [
              anInternalInterface(),
              anInterface({ endpoint: proxy.url, auth: 'none' }),
              anInterface({ name: 'http', protocol: 'HTTP', endpoint: agent.url, auth: 'api_key' }),
            ],
            composition: {
              type: 'pipeline',
              deterministic: true,
              steps: [
                { id: 'one', capability_ref: 'inside', on_failure: 'abort' },
                { id: 'two', capability_ref: 'over-mcp', on_failure: 'abort' },
              ],
            },
          }),
        ),
        'payments.yaml': toYaml(
          aManifest({
            identity: { id: 'payment-desk' },
            capabilities: [
              aWritingCapability({ id: 'note', input_schema }),
              aWritingCapability({ id: 'pay', input_schema, side_effect_level: 'high' }),
            ],
            composition: {
              type: 'pipeline',
              deterministic: true,
              steps: ['note', 'pay'].map((id) => ({ id, capability_ref: id, on_failure: 'abort' })),
            },
          }),
        ),
        'lib/payments.ts': `import { appendFileSync } from 'node:fs'
import path from 'node:path'
const file = path.join(import.meta.dirname, '..', 'ran.ndjson')
const recordRun = (name, input) => appendFileSync(file, JSON.stringify({ name, input }) + '\\n')
export const note = (input) => (recordRun('note', input), {})
export const pay = (input) => (recordRun('pay', input), { paid: true })
`,
      },
      { DESK_ACCESS: 'what-opens-the-desk' },
    )
    await site.serve()
    await Promise.all(
      clientKinds.map(async (clientKind) => {
        const options = { headers: asBearer('ann'), person: () => personAnswer }
        clients.set(clientKind, await site.connect(clientKind, options))
      }),
    )
    return async () => {
      await site.close()
      proxy.close()
      await upstream.close(100)
      agent.close()
    }
  })

  const clientOf = (clientKind: string): OfficialClient => {
    const client = clients.get(clientKind)
    if (!client) throw new Error(`no client for ${clientKind}`)
    return client
  }

  test.each(clientKinds)(
    '%s: a handler, an MCP agent, an HTTP agent and the composition answer',
    async (clientKind) => {
      const client = clientOf(clientKind)
      const order = `order-${clientKind}`
      const verdicts: Record<string, string> = {}
      for (const name of ['inside', 'over-mcp', 'over-http', 'order-desk'])
        verdicts[name] = (await client.call(name, { order })).verdict

      expect(verdicts).toEqual({
        inside: 'done',
        'over-mcp': 'done',
        'over-http': 'done',
        'order-desk': 'done',
      })
      expect(agent.requests.at(-1)).toMatchObject({
        url: '/over-http',
        headers: { 'x-api-key': 'what-opens-the-desk' },
        body: JSON.stringify({ order }),
      })
    },
  )

  test.each(clientKinds)(
    '%s: the idempotency key is sent to the agent, and a repeated call is replayed without a request',
    async (clientKind) => {
      const client = clientOf(clientKind)
      const countBefore = agent.requests.length
      const options = { meta: { 'idempotency-key': `key of ${clientKind}` } }
      const answers = [
        await client.call('write-http', { order: clientKind }, options),
        await client.call('write-http', { order: clientKind }, options),
      ]
      const sentRequests = agent.requests.slice(countBefore)

      expect(answers.map(({ verdict }) => verdict)).toEqual(['done', 'done'])
      expect(sentRequests.map(({ headers }) => headers['idempotency-key'])).toEqual([
        `key of ${clientKind}`,
      ])
    },
  )

  test.each(clientKinds)(
    '%s: the literal annotations are in the metadata of every tool',
    async (clientKind) => {
      for (const { name, _meta } of await clientOf(clientKind).tools())
        if (!name.endsWith('-desk'))
          expect(_meta['dev.drawbridge/extras']).toMatchObject({
            annotations: { sideEffects: expect.any(String), idempotency: expect.any(Object) },
          })
    },
  )

  test.each(clientKinds.filter((clientKind) => clientKind.endsWith('HTTP')))(
    '%s: a caller without the permission does not reach the agent',
    async (clientKind) => {
      const bob = await site.connect(clientKind, { headers: asBearer('bob') })
      const countBefore = agent.requests.length

      const { verdict } = await bob.call('write-http', { order: 'x', idempotency_key: 'bob' })

      // The 2025 client reports only the HTTP status.
      expect(['insufficient_scope', '403']).toContain(verdict)
      expect(agent.requests).toHaveLength(countBefore)
    },
  )

  test('caller tokens never reach an agent, and agent secrets never reach a caller', async () => {
    const sentRequests = JSON.stringify([agent.requests, forwardedHeaders])

    expect(agent.requests.length).toBeGreaterThan(0)
    expect(forwardedHeaders.length).toBeGreaterThan(0)
    for (const subject of ['ann', 'bob']) expect(sentRequests).not.toContain(tokenOf(subject))
    for (const headers of forwardedHeaders) expect(headers).not.toHaveProperty('authorization')
    for (const clientKind of clientKinds)
      expect(JSON.stringify(await clientOf(clientKind).tools())).not.toContain(
        'what-opens-the-desk',
      )
  })

  const runsFor = (order: string) =>
    site.runsOf().flatMap(({ name, input }) => (input.order === order ? [name] : []))

  test.each(clientKinds)(
    '%s: a composition runs every step once when the person approves the one that needs it',
    async (clientKind) => {
      const client = clientOf(clientKind)
      const countBefore = client.shown.length
      personAnswer = personAnswers.yes
      const { verdict, data } = await client.call(
        'payment-desk',
        { order: clientKind },
        key(clientKind),
      )

      expect({ verdict, data }).toEqual({ verdict: 'done', data: { paid: true } })
      expect(runsFor(clientKind)).toEqual(['note', 'pay'])
      expect(client.shown.slice(countBefore)).toEqual([expect.stringContaining('pay')])
    },
  )

  test.each(clientKinds)(
    '%s: a composition stops at a step that the person rejects',
    async (clientKind) => {
      const order = `no ${clientKind}`
      personAnswer = personAnswers.no
      const { verdict } = await clientOf(clientKind).call('payment-desk', { order }, key(order))

      expect(verdict).not.toBe('done')
      expect(runsFor(order)).toEqual(['note'])
    },
  )
})

const overMcp = defineTool({
  name: 'over-mcp',
  description: 'An agent.',
  category: 'read',
  schema: z.object({ order: z.string() }),
  execute: ({ order }) => ({ done: order }),
})

const key = (value: string) => ({ meta: { 'idempotency-key': value } })

/** A forwarding proxy that records the request headers. */
function aProxy(target: string, receivedHeaders: IncomingHttpHeaders[]) {
  return listenOnFreePort(
    createServer((request, response) => {
      receivedHeaders.push(request.headers)
      const { method = 'GET', headers } = request
      const upstreamRequest = http.request(target, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      upstreamRequest.on('error', () => response.destroy())
      response.on('close', () => upstreamRequest.destroy())
      request.pipe(upstreamRequest)
    }),
  )
}

const timeoutAfter = (milliseconds: number): Promise<string> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds, 'still closing').unref()
  })

/** Approves the pending request. */
async function approve(bridge: Drawbridge): Promise<void> {
  const [approval] = bridge.approvals.list(false)
  if (!approval) throw new Error('no pending approval')
  await bridge.approvals.decide(approval.id, 'approved', 'boss')
}
