import http, { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  type Caller,
  createDrawbridge,
  type Drawbridge,
  type ManifestSourceOptions,
  manifestSource,
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
import { countingTools } from '../support/counting-tools.ts'
import { type DoorClient, doors, says } from '../support/doors.ts'
import { asBearer, httpWithTokens, tokenOf } from '../support/tokens.ts'

type Handlers = NonNullable<ManifestSourceOptions['handlers']>

const keyed = (key: string) => ({ meta: { 'dev.drawbridge/idempotency-key': key } })
const as = (subject: string): { caller: Caller } => ({ caller: { subject, scopes: 'all' } })

/** `done`, or the code of the failure. */
async function verdictOf(call: ReturnType<Drawbridge['call']>): Promise<string> {
  const { isError, _meta } = await call
  const failure = _meta?.['dev.drawbridge/failure'] as { code: string } | undefined
  return failure?.code ?? (isError ? 'error' : 'done')
}

describe('a handler', () => {
  const found = () => ({ found: true })

  test.each<[string, Handlers]>([
    ['by its id', { 'look-up-order': found }],
    ['in the way of JavaScript', { lookUpOrder: found }],
    ['in a default export, by its id', { default: { 'look-up-order': found } } as never],
    ['in a default export, in the way of JavaScript', { default: { lookUpOrder: found } } as never],
  ])('is found %s', async (_, handlers) => {
    const bridge = await serveManifest(aManifest(), { handlers })

    expect(await bridge.call('look-up-order')).toMatchObject({ structuredContent: { found: true } })
  })

  test('is found among the exports of the module that the configuration names', async () => {
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

  test('is told who calls, under which key, and when to stop', async () => {
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

    await bridge.call('refund-order', {}, { ...as('ann'), ...keyed('k1') })

    expect(contexts).toEqual([{ caller: { subject: 'ann' }, idempotencyKey: 'k1', aborted: false }])
  })

  test('that throws fails that call, in words that give nothing away', async () => {
    const bridge = await serveManifest(aManifest(), {
      handlers: { lookUpOrder: () => Promise.reject(new Error('at 10.0.0.7')) },
    })
    const result = await bridge.call('look-up-order')

    expect(result.isError).toBe(true)
    expect(JSON.stringify(result)).not.toContain('10.0.0.7')
  })

  test('that answers what its schema does not allow is not believed', async () => {
    const output_schema = { type: 'object', required: ['found'] }
    const manifest = aManifest({ capabilities: [{ output_schema }] })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await bridge.call('look-up-order')).toMatchObject({ isError: true })
  })

  test('that is missing leaves out its capability alone, and that is said', async () => {
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

describe('what is offered', () => {
  const manifest = aManifest({
    capabilities: [
      {},
      { id: 'inside', protocols: ['INTERNAL'] },
      { id: 'api', protocols: ['HTTP'] },
    ],
    interfaces: [anInterface(), anInternalInterface(), anInterface({ protocol: 'HTTP' })],
  })

  test('over MCP is served, the rest with all: true', async () => {
    const handlers = answering(manifest)
    const some = await serveManifest(manifest, { handlers })
    const every = await serveManifest(manifest, { handlers, all: true })

    expect(await toolNames(some)).toEqual(['look-up-order'])
    expect(await toolNames(every)).toEqual(['api', 'inside', 'look-up-order'])
  })

  test('stands under the prefix of its source', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest), prefix: 'desk' })

    expect(await toolNames(bridge)).toEqual(['desk_look-up-order'])
    expect(await verdictOf(bridge.call('desk_look-up-order'))).toBe('done')
  })
})

describe('an interface keeps its promises whoever does the work:', () => {
  const strict = anInterface({
    privileged: true,
    permissions: ['desk.enter'],
    rate_limit: { requests_per_minute: 2 },
  })
  const manifest = aManifest({
    interfaces: [strict, anInternalInterface()],
    policy: { high_risk_approval_required: false },
  })

  test('its permissions are asked for', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const caller: Caller = { subject: 'ann', scopes: new Set() }

    await expect(bridge.call('look-up-order', {}, { caller })).rejects.toMatchObject({
      data: { code: 'insufficient_scope' },
    })
  })

  test('its rate is kept', async () => {
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const verdicts = [1, 2, 3].map(() => verdictOf(bridge.call('look-up-order')))

    expect(await Promise.all(verdicts)).toEqual(['done', 'done', 'rate_limited'])
  })
})

describe('the rate of an interface', () => {
  test('is shared by all callers and all capabilities that come through it', async () => {
    const manifest = aManifest({
      capabilities: [{ id: 'one' }, { id: 'two' }],
      interfaces: [anInternalInterface({ rate_limit: { requests_per_minute: 3 } })],
    })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const calls = [
      () => bridge.call('one', {}, as('ann')),
      () => bridge.call('two', {}, as('bob')),
      () => bridge.call('one', {}, as('eve')),
      () => bridge.call('two', {}, as('ann')),
      () => bridge.call('one', {}, as('zoe')),
    ]
    const verdicts: string[] = []
    for (const call of calls) verdicts.push(await verdictOf(call()))

    expect(verdicts).toEqual(['done', 'done', 'done', 'rate_limited', 'rate_limited'])
  })
})

describe('the budget', () => {
  const spending = (budget: Fields, estimated_cost = 3) =>
    aManifest({
      requirements: { budget: { currency: 'EUR', ...budget } },
      capabilities: [{ cost: { mode: 'fixed', estimated_cost, unit: 'EUR' } }],
    })

  test('is mentioned at 80 %, needs a human above 100 %, and ends above 120 % [M14]', async () => {
    const manifest = spending({ monthly_limit: 10 })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })
    const call = () => bridge.call('look-up-order')

    expect(await call()).not.toMatchObject({
      _meta: { 'dev.drawbridge/budget': expect.anything() },
    })
    expect(await verdictOf(call())).toBe('done')
    expect(await call()).toMatchObject({
      _meta: { 'dev.drawbridge/budget': { state: 'alert', used: 9, limit: 10, unit: 'EUR' } },
    })
    expect(await verdictOf(call())).toBe('approval_required')
    await approve(bridge)
    expect(await verdictOf(call())).toBe('done')
    expect(await verdictOf(call())).toBe('budget_exceeded')
  })

  test('is that of all callers together', async () => {
    const manifest = spending({ monthly_limit: 5 })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await verdictOf(bridge.call('look-up-order', {}, as('ann')))).toBe('done')
    expect(await verdictOf(bridge.call('look-up-order', {}, as('bob')))).toBe('approval_required')
  })

  test.each([
    [3, 'done'],
    [2.6, 'approval_required'],
    [2, 'budget_exceeded'],
    [0, 'budget_exceeded'],
  ])('of %d for one task: a call that costs 3 is %s', async (per_task_limit, verdict) => {
    const manifest = spending({ per_task_limit })
    const bridge = await serveManifest(manifest, { handlers: answering(manifest) })

    expect(await verdictOf(bridge.call('look-up-order'))).toBe(verdict)
  })
})

test('timeout_seconds ends a call, and tells the handler', async () => {
  let stopped = false
  const bridge = await serveManifest(aManifest({ runtime: { timeout_seconds: 1 } }), {
    handlers: {
      lookUpOrder: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            stopped = true
            resolve({})
          })
        }),
    },
  })
  const started = performance.now()

  expect(await verdictOf(bridge.call('look-up-order'))).toBe('timed_out')
  expect(performance.now() - started).toBeGreaterThan(900)
  expect(stopped).toBe(true)
})

test('a handler that never ends does not keep the server from stopping', async () => {
  const folder = await aProject({
    'agent.yaml': toYaml(aManifest({ runtime: { timeout_seconds: 1 } })),
  })
  const handlers = { lookUpOrder: () => new Promise(() => {}) }
  const source = manifestSource(`${folder}/agent.yaml`, { handlers })
  const bridge = createDrawbridge({ sources: [source] })

  expect(await verdictOf(bridge.call('look-up-order'))).toBe('timed_out')
  const closed = bridge.close(100).then(() => 'closed')

  expect(await Promise.race([closed, late(3000)])).toBe('closed')
})

describe('a high-risk call', () => {
  test('waits for a human, and runs once after a yes [M13]', async () => {
    const runs: unknown[] = []
    const manifest = aManifest({
      capabilities: [aWritingCapability({ side_effect_level: 'high' })],
    })
    const bridge = await serveManifest(manifest, {
      handlers: { refundOrder: (input) => ({ run: runs.push(input) }) },
    })
    const call = () => verdictOf(bridge.call('refund-order', { order: 'a' }, keyed('k')))

    expect(await call()).toBe('approval_required')
    expect(runs).toEqual([])
    await approve(bridge)
    expect([await call(), await call()]).toEqual(['done', 'done'])
    expect(runs).toEqual([{ order: 'a' }])
  })

  test('without a key is told to bring one [M11]', async () => {
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
  const composing = (steps: readonly Step[], parts: ManifestParts = {}, type = 'pipeline') =>
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
  const whole = [
    ['first', 'find'],
    ['second', 'tax'],
    ['third', 'note'],
  ] as const

  /** What ran, in order, with what it was given. */
  async function composed(
    manifest: ReturnType<typeof aManifest>,
    own: Handlers = {},
    parts: ServeParts = {},
  ) {
    const ran: [string, unknown][] = []
    const noting = (id: string, run: Handlers[string]): Handlers[string] => {
      return (input, context) => {
        ran.push([id, input])
        return run(input, context)
      }
    }
    const usual: Handlers = {
      find: (input) => ({ order: (input as { order: string }).order, amount: 100 }),
      tax: (input) => ({ tax: (input as { amount: number }).amount / 5 }),
      note: () => ({ noted: 'yes' }),
      ...own,
    }
    const handlers = Object.fromEntries(
      Object.entries(usual).map(([id, run]) => [id, noting(id, run)]),
    )
    const bridge = await serveManifest(manifest, { handlers, compose: true, ...parts })
    return { bridge, ran }
  }
  const input = { order: 'A-1', by: 'ann' }

  test('is a tool named after the agent, only where it is asked for', async () => {
    const { bridge } = await composed(composing(whole))
    const plain = await serveManifest(composing(whole), {
      handlers: { find: () => ({}), tax: () => ({}), note: () => ({}) },
    })

    expect(await toolNames(bridge)).toEqual(['find', 'note', 'order-desk', 'tax'])
    expect(await toolNames(plain)).toEqual(['find', 'note', 'tax'])
  })

  test('asks for what no earlier step brings, and for the permissions and keys of all', async () => {
    const { bridge } = await composed(composing(whole))
    const tool = (await bridge.list()).tools.find(({ name }) => name === 'order-desk')

    expect(tool?.inputSchema.required?.slice().sort()).toEqual(['by', 'order'])
    expect(tool?.annotations).toMatchObject({ readOnlyHint: false })
    expect(tool?._meta?.['dev.drawbridge/rules']).toMatchObject({
      permissions: ['orders.write'],
      idempotencyKey: true,
    })
  })

  test('runs its steps in order, outputs feeding inputs by name, and no step gets more than it takes', async () => {
    const { bridge, ran } = await composed(composing(whole))

    const result = await bridge.call('order-desk', input, keyed('k'))

    expect(result).toMatchObject({ structuredContent: { noted: 'yes' } })
    expect(ran).toEqual([
      ['find', { order: 'A-1' }],
      ['tax', { amount: 100 }],
      ['note', { order: 'A-1', tax: 20, by: 'ann' }],
    ])
  })

  test('works under a prefix, too', async () => {
    const { bridge, ran } = await composed(composing(whole), {}, { prefix: 'desk' })

    expect(await verdictOf(bridge.call('desk_order-desk', input, keyed('k')))).toBe('done')
    expect(ran).toHaveLength(3)
  })

  test('ends at a step that fails and says abort', async () => {
    const { bridge, ran } = await composed(composing(whole), { tax: () => ({ tax: 'none' }) })

    expect(await bridge.call('order-desk', input, keyed('k'))).toMatchObject({ isError: true })
    expect(ran.map(([id]) => id)).toEqual(['find', 'tax'])
  })

  test('goes on after a step that fails and says continue, and says what was skipped', async () => {
    const steps = [
      ['first', 'tax', 'continue'],
      ['second', 'find'],
    ] as const
    const { bridge, ran } = await composed(composing(steps), {
      tax: () => Promise.reject(new Error('no')),
    })
    const result = await bridge.call('order-desk', { ...input, amount: 1 }, keyed('k'))

    expect(result.isError).toBeUndefined()
    expect(result.structuredContent).toMatchObject({
      result: { order: 'A-1', amount: 100 },
      skipped: [expect.stringContaining('first')],
    })
    expect(ran.map(([id]) => id)).toEqual(['tax', 'find'])
  })

  test.each([
    [0, ['find']],
    [1, ['find', 'find']],
    [2, ['find', 'find', 'find', 'tax']],
  ])('tries a step that says retry again, max_retries %i times', async (max_retries, ids) => {
    let failures = 2
    const steps = [
      ['first', 'find', 'retry'],
      ['second', 'tax'],
    ] as const
    const { bridge, ran } = await composed(composing(steps, { runtime: { max_retries } }), {
      find: () => (failures-- > 0 ? Promise.reject(new Error('no')) : { order: 'a', amount: 1 }),
    })

    await bridge.call('order-desk', input)

    expect(ran.map(([id]) => id)).toEqual(ids)
  })

  test('does not try again what must not be done twice', async () => {
    const steps = [
      ['first', 'note', 'retry'],
      ['second', 'find'],
    ] as const
    const { bridge, ran } = await composed(composing(steps, { runtime: { max_retries: 3 } }), {
      note: () => Promise.reject(new Error('no')),
    })

    await bridge.call('order-desk', { ...input, tax: 1 }, keyed('k'))

    expect(ran.map(([id]) => id)).toEqual(['note'])
  })

  test('does what it does once under one key', async () => {
    const { bridge, ran } = await composed(composing(whole))

    const first = await bridge.call('order-desk', input, keyed('k'))
    const again = await bridge.call('order-desk', input, keyed('k'))

    expect(again.structuredContent).toEqual(first.structuredContent)
    expect(ran.filter(([id]) => id === 'note')).toHaveLength(1)
  })

  test('runs two steps of one capability, each under a key of its own', async () => {
    const steps = [
      ['first', 'note'],
      ['second', 'find'],
      ['third', 'note'],
    ] as const
    const { bridge, ran } = await composed(composing(steps), {
      find: () => ({ order: 'A-2', amount: 5 }),
    })

    expect(await verdictOf(bridge.call('order-desk', { ...input, tax: 1 }, keyed('k')))).toBe(
      'done',
    )
    expect(ran.map(([id]) => id)).toEqual(['note', 'find', 'note'])
  })

  test('waits for the approval of a step, does nothing twice, and goes on after it', async () => {
    const pay = aWritingCapability({ id: 'pay', side_effect_level: 'high' })
    const steps = [
      ['first', 'note'],
      ['second', 'pay'],
      ['third', 'find'],
    ] as const
    const manifest = composing(steps, { capabilities: [find, note, pay] })
    const { bridge, ran } = await composed(manifest, { pay: () => ({ paid: true }) })
    const call = () => bridge.call('order-desk', { ...input, tax: 1 }, keyed('k'))

    const first = await call()
    expect(first.isError).toBe(true)
    expect(ran.map(([id]) => id)).toEqual(['note'])
    await approve(bridge)
    const second = await call()

    expect(second).toMatchObject({ structuredContent: { order: 'A-1' } })
    expect(ran.map(([id]) => id)).toEqual(['note', 'pay', 'find'])
  })

  test('is refused to whom a single step would be, before anything runs', async () => {
    const { bridge, ran } = await composed(composing(whole))
    const caller: Caller = { subject: 'ann', scopes: new Set(['orders.read']) }

    await expect(bridge.call('order-desk', input, { caller, ...keyed('k') })).rejects.toMatchObject(
      { data: { code: 'insufficient_scope' } },
    )
    expect(ran).toEqual([])
  })

  test('keeps schemas apart that stand in different files under the same name', async () => {
    const referring = (id: string, name: string) => ({
      id,
      input_schema: { $ref_uri: `${id}.json` },
      output_schema: { type: 'object', title: name },
    })
    const file = (name: string) =>
      JSON.stringify({ type: 'object', properties: { [name]: { $ref: `${name}-part.json` } } })
    const manifest = composing(
      [
        ['first', 'one'],
        ['second', 'two'],
      ],
      {
        capabilities: [referring('one', 'a'), referring('two', 'b')],
      },
    )
    const { bridge, ran } = await composed(
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
    expect(ran).toEqual([
      ['one', { a: 'text' }],
      ['two', { b: 1 }],
    ])
  })

  test.each<[string, string, string, ReturnType<typeof aManifest>]>([
    ['a graph', 'composition_graph', '/composition/type', composing(whole, {}, 'graph')],
    ['no composition', 'composition_missing', '', aManifest({ capabilities: [find, tax, note] })],
    [
      'a step that runs what is not served',
      'composition_broken',
      '/composition/steps/1',
      composing([
        ['first', 'find'],
        ['second', 'gone'],
      ]),
    ],
  ])(
    'of %s is refused, that is said, and the rest is served',
    async (_, code, pointer, manifest) => {
      const { bridge } = await composed(manifest)

      expect(await toolNames(bridge)).toEqual(['find', 'note', 'tax'])
      expect(bridge.diagnostics).toContainEqual(
        expect.objectContaining({ code, severity: 'error', pointer }),
      )
    },
  )

  test('of two steps with one id is refused: their keys could not be told apart', async () => {
    const steps = [
      ['same', 'note'],
      ['same', 'note'],
    ] as const
    const { bridge } = await composed(composing(steps))

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

/** An agent that answers in order, the last answer again and again, and remembers what it was sent. */
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
  return { requests, ...(await listening(server)) }
}

async function listening(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

describe('an agent behind HTTP', () => {
  const failing = { status: 503, body: { message: 'later' } }
  const good = { status: 200, body: { found: true } }
  const reaching = (endpoint: string, capability: Fields = {}, runtime: Fields = {}) =>
    aManifest({
      capabilities: [{ protocols: ['MCP', 'HTTP'], ...capability }],
      interfaces: [anInterface({ protocol: 'HTTP', endpoint, auth: 'none' })],
      runtime,
    })

  async function agentOf(...answers: readonly Answer[]) {
    const agent = await anAgent(...answers)
    onTestFinished(agent.close)
    return agent
  }

  test('is posted the arguments at <endpoint>/<capability id>, and its answer comes back', async () => {
    const agent = await agentOf(good)
    const bridge = await serveManifest(reaching(`${agent.url}/api/`))

    const result = await bridge.call('look-up-order', { order: 'A-1' })

    expect(result).toMatchObject({ structuredContent: { found: true } })
    expect(agent.requests).toMatchObject([{ url: '/api/look-up-order', body: '{"order":"A-1"}' }])
  })

  test.each([
    [0, 1, 'upstream_unavailable'],
    [1, 2, 'upstream_unavailable'],
    [2, 3, 'done'],
  ])(
    'that fails twice is asked again where that is safe: with max_retries %i, %i times',
    async (max_retries, times, verdict) => {
      const agent = await agentOf(failing, failing, good)
      const bridge = await serveManifest(reaching(agent.url, {}, { max_retries }))
      const came = await verdictOf(bridge.call('look-up-order'))

      expect(agent.requests).toHaveLength(times)
      expect(came === 'done').toBe(verdict === 'done')
    },
  )

  test('that fails is not asked again to do what must not be done twice', async () => {
    const agent = await agentOf(failing, good)
    const capability = aWritingCapability()
    const bridge = await serveManifest(reaching(agent.url, capability, { max_retries: 5 }))

    expect(await verdictOf(bridge.call('refund-order', {}, keyed('k')))).toBe('outcome_unknown')
    expect(agent.requests).toHaveLength(1)
  })

  test('that fails is asked again, under the same key, to do what may be done twice', async () => {
    const agent = await agentOf(failing, good)
    const capability = aWritingCapability({ idempotent: true })
    const bridge = await serveManifest(reaching(agent.url, capability, { max_retries: 1 }))

    expect(await verdictOf(bridge.call('refund-order', {}, keyed('k')))).toBe('done')
    const [first, second] = agent.requests.map(({ headers }) => headers['idempotency-key'])
    expect(first).toBeTruthy()
    expect(second).toBe(first)
  })

  test('is shown the secret of the manifest, which is looked up when it is called', async () => {
    const asked: string[] = []
    const agent = await agentOf(good)
    const manifest = aManifest({
      requirements: { secrets: [{ id: 'agents', secret_ref: 'vault://team/desk' }] },
      capabilities: [{ protocols: ['MCP', 'HTTP'] }],
      interfaces: [anInterface({ protocol: 'HTTP', endpoint: agent.url, auth: 'api_key' })],
    })
    const bridge = await serveManifest(manifest, {
      resolveSecret: async (reference) => {
        asked.push(reference)
        return 'the-value-of-it'
      },
    })
    await bridge.list()
    expect(asked).toEqual([])

    const result = await bridge.call('look-up-order')

    expect(agent.requests[0]?.headers).toMatchObject({ 'x-api-key': 'the-value-of-it' })
    expect(JSON.stringify([result, await bridge.list(), bridge.diagnostics])).not.toContain(
      'the-value-of-it',
    )
  })

  test('is not called without the secret that it wants', async () => {
    const agent = await agentOf(good)
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

describe('through every door', () => {
  const clients = new Map<string, DoorClient>()
  let agent: Awaited<ReturnType<typeof anAgent>>
  let upstream: Site
  let site: Site
  const forwarded: IncomingHttpHeaders[] = []
  const input_schema = { type: 'object', properties: { order: { type: 'string' } } }

  beforeAll(async () => {
    agent = await anAgent({ status: 200, body: { done: true } })
    upstream = await Site.open({
      'drawbridge.yaml': 'sources: [{ definitions: ./tools/*.ts }]\n',
      'tools/all.ts': countingTools({ name: 'over-mcp', category: 'read' }),
    })
    await upstream.serve()
    const proxy = await aProxy(upstream.url, forwarded)
    site = await Site.open(
      {
        'drawbridge.yaml': `sources: [{ manifest: agent.yaml, handlers: handlers.ts, all: true, compose: true }]
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
      },
      { DESK_ACCESS: 'what-opens-the-desk' },
    )
    await site.serve()
    for (const door of doors)
      clients.set(door, await site.connect(door, { headers: asBearer('ann') }))
    return async () => {
      await site.close()
      proxy.close()
      await upstream.close()
      agent.close()
    }
  }, 60_000)

  const clientOf = (door: string): DoorClient => {
    const client = clients.get(door)
    if (!client) throw new Error(`no client for ${door}`)
    return client
  }

  test.each(doors)(
    '%s: a handler, an MCP agent, an HTTP agent and the composition answer',
    async (door) => {
      const client = clientOf(door)
      const order = `order-${door}`
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

  test.each(doors)(
    '%s: the key of a call goes to the agent, a second call under it does not',
    async (door) => {
      const client = clientOf(door)
      const before = agent.requests.length
      const options = { meta: { 'idempotency-key': `key of ${door}` } }
      const answers = [
        await client.call('write-http', { order: door }, options),
        await client.call('write-http', { order: door }, options),
      ]
      const sent = agent.requests.slice(before)

      expect(answers.map(({ verdict }) => verdict)).toEqual(['done', 'done'])
      expect(sent.map(({ headers }) => headers['idempotency-key'])).toEqual([`key of ${door}`])
    },
  )

  test.each(doors)(
    '%s: the literal annotations survive in the metadata of every tool',
    async (door) => {
      for (const { name, _meta } of await clientOf(door).tools())
        if (name !== 'order-desk')
          expect(_meta['dev.drawbridge/extras']).toMatchObject({
            annotations: { sideEffects: expect.any(String), idempotency: expect.any(Object) },
          })
    },
  )

  test.each(doors.filter((door) => door.endsWith('HTTP')))(
    '%s: without the permission the agent is not reached',
    async (door) => {
      const bob = await site.connect(door, { headers: asBearer('bob') })
      const before = agent.requests.length

      const { verdict } = await bob.call('write-http', { order: 'x', idempotency_key: 'bob' })

      // In a session of 2025 the client only tells the status.
      expect(['insufficient_scope', '403']).toContain(verdict)
      expect(agent.requests).toHaveLength(before)
    },
  )

  test('the token of a caller never went to an agent, nor the secret of one to a caller', async () => {
    const sent = JSON.stringify([agent.requests, forwarded])

    expect(agent.requests.length).toBeGreaterThan(0)
    expect(forwarded.length).toBeGreaterThan(0)
    for (const subject of ['ann', 'bob']) expect(sent).not.toContain(tokenOf(subject))
    for (const headers of forwarded) expect(headers).not.toHaveProperty('authorization')
    for (const door of doors)
      expect(JSON.stringify(await clientOf(door).tools())).not.toContain('what-opens-the-desk')
  })
})

describe('a composition with a step that needs an approval', () => {
  let site: Site

  beforeAll(async () => {
    const step = (id: string) => ({ id, capability_ref: id, on_failure: 'abort' })
    const input_schema = { type: 'object', properties: { order: { type: 'string' } } }
    site = await Site.open({
      'drawbridge.yaml':
        'sources: [{ manifest: agent.yaml, handlers: ./lib/handlers.ts, compose: true }]\n',
      'agent.yaml': toYaml(
        aManifest({
          capabilities: [
            aWritingCapability({ id: 'note', input_schema }),
            aWritingCapability({ id: 'pay', input_schema, side_effect_level: 'high' }),
          ],
          composition: {
            type: 'pipeline',
            deterministic: true,
            steps: [step('note'), step('pay')],
          },
        }),
      ),
      'lib/handlers.ts': `import { appendFileSync } from 'node:fs'
import path from 'node:path'
const file = path.join(import.meta.dirname, '..', 'ran.ndjson')
const ran = (name, input) => appendFileSync(file, JSON.stringify({ name, input }) + '\\n')
export const note = (input) => (ran('note', input), {})
export const pay = (input) => (ran('pay', input), { paid: true })
`,
    })
    await site.serve()
    return () => site.close()
  })

  const ranFor = (order: string) =>
    site.ran().flatMap(({ name, input }) => (input.order === order ? [name] : []))

  test.each(doors)('%s: runs every step once when the person there says yes', async (door) => {
    const client = await site.connect(door, { person: () => says.yes })
    const { verdict, data } = await client.call('order-desk', { order: door }, key(door))

    expect({ verdict, data }).toEqual({ verdict: 'done', data: { paid: true } })
    expect(ranFor(door)).toEqual(['note', 'pay'])
    expect(client.shown).toHaveLength(1)
    expect(client.shown[0]).toContain('pay')
  })

  test.each(doors)('%s: goes no further when the person says no', async (door) => {
    const order = `no ${door}`
    const client = await site.connect(door, { person: () => says.no })
    const { verdict } = await client.call('order-desk', { order }, key(order))

    expect(verdict).not.toBe('done')
    expect(ranFor(order)).toEqual(['note'])
  })
})

const key = (value: string) => ({ meta: { 'idempotency-key': value } })

/** Passes everything on, and remembers the headers. */
function aProxy(target: string, seen: IncomingHttpHeaders[]) {
  return listening(
    createServer((request, response) => {
      seen.push(request.headers)
      const { method = 'GET', headers } = request
      const onward = http.request(target, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      response.on('close', () => onward.destroy())
      request.pipe(onward)
    }),
  )
}

const late = (milliseconds: number): Promise<string> =>
  new Promise((resolve) => {
    setTimeout(resolve, milliseconds, 'still closing').unref()
  })

/** Somebody says yes to what is waiting. */
async function approve(bridge: Drawbridge): Promise<void> {
  const [pending] = bridge.approvals.list(false)
  if (!pending) throw new Error('nothing waits for an approval')
  await bridge.approvals.decide(pending.id, 'approved', 'boss')
}
