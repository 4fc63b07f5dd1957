import { expect, test } from 'vitest'
import { createDrawbridge, type Service, serviceSource, toJsonSchema } from '../../src/index.ts'
import { anAction, aService } from '../support/a-service.ts'
import { clientKinds } from '../support/client-kinds.ts'
import { serveHere } from '../support/serve-here.ts'
import { aWatcher, type ToolResult } from '../support/watching-clients.ts'

const overHttp = clientKinds.filter((clientKind) => clientKind.endsWith('HTTP'))

async function serve(service: Service, options = {}) {
  const server = await serveHere({
    sources: [serviceSource(service, { id: 'lights', ...options })],
  })
  const { bridge } = server
  const call = async (name: string, input: unknown = {}) =>
    (await bridge.call(name, input)) as unknown as ToolResult
  const tools = async () => (await bridge.list()).tools
  return { ...server, call, tools }
}

const dim = anAction({
  description: 'Dims the light.',
  schema: {
    type: 'object',
    properties: { level: { type: 'integer', minimum: 0, maximum: 100 } },
    required: ['level'],
  },
})

test.each(overHttp)(
  'every action is a tool with its key, description and schema, and a call executes it: %s [S2, S6, S10, S15, S16, S17, S18, S20, S41, S51]',
  async (clientKind) => {
    const { service, executed } = aService({ actions: { dim, wake: anAction() } })
    const { url } = await serve(service)
    const client = await aWatcher(clientKind, { url, what: '' })

    const tools = await client.tools()
    const result = await client.call('dim', { level: 40 })

    expect(tools).toMatchObject([
      { name: 'dim', description: 'Dims the light.', inputSchema: dim.schema },
      { name: 'wake', description: 'Does something.', inputSchema: { type: 'object' } },
    ])
    expect(executed).toEqual([{ action: 'dim', input: { level: 40 } }])
    expect(result.content).toEqual([{ type: 'text', text: '' }])
  },
)

test.each(overHttp)(
  'undefined is success with empty text, and a string is the error message: %s [S7, S11, S21, S22, S39]',
  async (clientKind) => {
    const { service } = aService({
      actions: { fail: anAction(), work: anAction() },
      answer: async (action) => (action === 'fail' ? 'The bulb is broken' : undefined),
    })
    const { url } = await serve(service)
    const client = await aWatcher(clientKind, { url, what: '' })

    expect(await client.call('work')).toMatchObject({
      content: [{ type: 'text', text: '' }],
      isError: false,
    })
    expect(await client.call('fail')).toMatchObject({
      content: [{ type: 'text', text: 'The bulb is broken' }],
      isError: true,
    })
  },
)

test('a returned string is an error or data by the action shape, or by the strings option', async () => {
  const service: Service = {
    actions: (notify) => {
      notify({
        older: { description: 'Older.', schema: false, execute: () => 'words' },
        newer: { description: 'Newer.', parameters: [], execute: () => 'words' },
      })
      return () => {}
    },
  }
  const defaultServer = await serve(service)
  const errorServer = await serve(service, { strings: 'error' })
  const dataServer = await serve(service, { strings: 'data' })

  expect((await defaultServer.call('older')).isError).toBe(true)
  expect((await defaultServer.call('newer')).isError).toBeUndefined()
  expect((await errorServer.call('newer')).isError).toBe(true)
  expect((await dataServer.call('older')).content).toEqual([{ type: 'text', text: 'words' }])
})

test('data is text and structured content; a thrown error is not leaked to the client', async () => {
  const causes: unknown[] = []
  const service: Service = {
    actions: (notify) => {
      notify({
        look: { description: 'Looks.', parameters: [], execute: async () => ({ level: 3 }) },
        burst: {
          description: 'Bursts.',
          parameters: [],
          execute: () => {
            throw new Error('password=hunter2 at /home/ann/app.ts')
          },
        },
      })
      return () => {}
    },
  }
  const { bridge } = await serveHere({
    sources: [serviceSource(service)],
    onOperatorFailure: ({ failure }) => causes.push(failure.cause),
  })

  expect(await bridge.call('look')).toMatchObject({
    content: [{ type: 'text', text: '{"level":3}' }],
    structuredContent: { level: 3 },
  })
  const burst = await bridge.call('burst')
  expect(burst.isError).toBe(true)
  expect(JSON.stringify(burst)).not.toMatch(/hunter2|ann/)
  expect(causes).toMatchObject([expect.stringContaining('hunter2')])
})

test('identical calls are executed each time, without deduplication', async () => {
  const { service, executed } = aService({ actions: { toggle: anAction() } })
  const { call } = await serve(service)

  await call('toggle')
  await call('toggle')

  expect(executed).toHaveLength(2)
})

test('the effects option sets the tool hints, per action and by default', async () => {
  const { service } = aService({ actions: { look: anAction(), wipe: anAction() } })
  const withoutEffects = await serve(service)
  const withEffects = await serve(service, {
    effects: { '*': { irreversible: false }, look: { writes: false } },
  })

  const hints = async ({ tools }: typeof withEffects) =>
    (await tools()).map(({ annotations: hint }) => [hint?.readOnlyHint, hint?.destructiveHint])
  expect(await hints(withoutEffects)).toEqual([
    [false, true],
    [false, true],
  ])
  expect(await hints(withEffects)).toEqual([
    [true, false],
    [false, false],
  ])
})

test('a schema is used unchanged, except that project-specific keywords are stripped with a diagnostic [S4, S9, S38, S53]', async () => {
  const plainSchema = {
    type: 'object',
    properties: { a: { type: 'string', minLength: 1 } },
    required: ['a'],
  }
  const extendedSchema = {
    type: 'object',
    layout: 'std140',
    conditionals: [{ path: '$.a', value: {} }],
    properties: { a: { type: 'number', precision: 1, interpolators: { linear: () => 0 } } },
  }
  const { service } = aService({
    actions: {
      plain: anAction({ schema: plainSchema }),
      special: anAction({ schema: extendedSchema }),
    },
  })
  const { bridge, tools } = await serve(service)

  const [first, second] = await tools()
  expect(JSON.stringify(first?.inputSchema)).toBe(JSON.stringify(plainSchema))
  expect(second?.inputSchema).toEqual({ type: 'object', properties: { a: { type: 'number' } } })
  expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`)).toEqual([
    'keyword_stripped /actions/special/schema/layout',
    'keyword_stripped /actions/special/schema/conditionals',
    'keyword_stripped /actions/special/schema/properties/a/precision',
    'keyword_stripped /actions/special/schema/properties/a/interpolators',
  ])
  expect(toJsonSchema(extendedSchema)).toMatchObject({ schema: second?.inputSchema })
})

test.each([
  { type: 'blob' },
  { type: 'object', properties: { buffer: { type: 'typed-buffer' } } },
  { type: 'object', default: { now: () => 0 } },
  { type: 'object', properties: { a: { pattern: '(' } } },
  { type: 'object', properties: 7 },
  'no schema',
  7,
])('a schema without a JSON form omits only its action: %j', async (schema) => {
  const { service } = aService({ actions: { odd: anAction({ schema }), good: anAction() } })
  const { bridge, tools } = await serve(service)

  expect((await tools()).map(({ name }) => name)).toEqual(['good'])
  expect(bridge.diagnostics).toMatchObject([
    { code: 'action_unusable', severity: 'error', source: 'lights', pointer: '/actions/odd' },
  ])
})

test('scalar and positional parameters are wrapped as named properties and passed back as positional arguments', async () => {
  const executedInputs: unknown[][] = []
  const execute = (...input: unknown[]) => void executedInputs.push(input)
  const service: Service = {
    actions: (notify) => {
      notify({
        none: { description: '0', parameters: [], execute },
        one: {
          description: '1',
          parameters: [{ type: 'object', properties: { a: { type: 'number' } } }],
          execute,
        },
        scalar: { description: '2', parameters: [{ type: 'number' }], execute },
        titled: {
          description: '3',
          parameters: [{ type: 'integer', title: 'index' }, { type: 'string' }],
          execute,
        },
        twins: {
          description: '4',
          parameters: [
            { type: 'string', title: 'x' },
            { type: 'string', title: 'x' },
          ],
          execute,
        },
        odd: { description: '5', parameters: [{ type: 'string', title: 'Two words' }], execute },
        older: { description: '6', schema: { type: 'string', title: 'color' }, execute },
      })
      return () => {}
    },
  }
  const { tools, call } = await serve(service)

  const properties = Object.fromEntries(
    (await tools()).map(({ name, inputSchema }) => [
      name,
      Object.keys(inputSchema.properties ?? {}),
    ]),
  )
  expect(properties).toEqual({
    none: [],
    one: ['a'],
    scalar: ['arg0'],
    titled: ['index', 'arg1'],
    twins: ['arg0', 'arg1'],
    odd: ['arg0'],
    older: ['color'],
  })
  await call('none')
  await call('one', { a: 1 })
  await call('scalar', { arg0: 2 })
  await call('titled', { arg1: 'b', index: 3 })
  await call('older', { color: 'red' })
  expect(executedInputs).toEqual([[], [{ a: 1 }], [2], [3, 'b'], ['red']])
  expect((await call('titled', { index: 3 })).isError).toBe(true)
})

test('invalid actions omit only themselves', async () => {
  const throwingAction = {
    get description(): string {
      throw new Error('not now')
    },
    schema: false,
  }
  const service: Service = {
    actions: (notify) => {
      notify({
        null: null as never,
        words: 'words' as never,
        lifeless: { description: 'Has nothing to execute.' },
        thrower: throwingAction as never,
        silent: { schema: false, execute: () => undefined },
        good: { description: 'Good.', schema: false, execute: () => undefined },
      })
      return () => {}
    },
  }
  const { bridge, tools } = await serve(service)

  expect((await tools()).map(({ name }) => name)).toEqual(['good', 'silent'])
  expect(bridge.diagnostics.map(({ code, pointer }) => `${code} ${pointer}`).sort()).toEqual([
    'action_unusable /actions/lifeless',
    'action_unusable /actions/null',
    'action_unusable /actions/thrower',
    'action_unusable /actions/words',
    'description_missing /actions/silent',
  ])
})

test('a frozen service is served without being modified [S23, S47, S48]', async () => {
  const { service, executed } = aService({ actions: { go: anAction() }, states: {} })
  const frozenService = Object.freeze({ ...service })
  const bridge = createDrawbridge({ sources: [serviceSource(frozenService)] })

  await bridge.call('go')
  await bridge.close()

  expect(executed).toHaveLength(1)
  expect(Object.keys(frozenService)).toEqual(Object.keys(service))
})

test('several services share one server, separated by a prefix [S50]', async () => {
  const [hall, attic] = [
    aService({ actions: { wake: anAction() } }),
    aService({ actions: { wake: anAction() } }),
  ]
  const { bridge } = await serveHere({
    sources: [
      { source: serviceSource(hall.service, { id: 'hall' }), mount: '/mcp' },
      { source: serviceSource(attic.service, { id: 'attic' }), mount: '/mcp', prefix: 'attic' },
    ],
  })

  await bridge.call('attic_wake')

  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['attic_wake', 'wake'])
  expect([hall.executed.length, attic.executed.length]).toEqual([0, 1])
})
