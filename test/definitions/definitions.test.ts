import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createDrawbridge,
  defineTool,
  definitionSource,
  type ToolDefinition,
} from '../../src/index.ts'

const anyTool = (parts: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'get_weather',
  description:
    'Returns the weather of a city. Use when … . For forecasts use get_forecast instead.',
  schema: z.object({}),
  category: 'read',
  execute: () => ({}),
  ...parts,
})

async function serving(...definitions: unknown[]) {
  const bridge = createDrawbridge({ sources: [definitionSource(definitions as ToolDefinition[])] })
  await bridge.ready
  return bridge
}

async function toolOf(parts: Partial<ToolDefinition> = {}) {
  const [tool] = (await (await serving(anyTool(parts))).list()).tools
  if (!tool) throw new Error('not listed')
  return tool
}

const hintsOf = async (parts: Partial<ToolDefinition>) => (await toolOf(parts)).annotations

describe('core field mapping', () => {
  test('the name is the registered tool name, and one that is not snake_case is remarked upon [D1]', async () => {
    expect((await toolOf()).name).toBe('get_weather')
    const bridge = await serving(anyTool({ name: 'GetWeather' }))
    expect(bridge.diagnostics).toMatchObject([{ code: 'name_style', severity: 'info' }])
  })

  test('a description of any length reaches the client whole [D2]', async () => {
    const description = `Routing contract. ${'Use when… '.repeat(5000)}`
    expect((await toolOf({ description })).description).toBe(description)
  })

  test('the schema becomes inputSchema and is enforced, from Zod or as Pydantic writes it [D3]', async () => {
    const zod = anyTool({ schema: z.object({ city: z.string() }) })
    const pydantic = anyTool({
      name: 'from_pydantic',
      schema: {
        properties: { city: { title: 'City', type: 'string' } },
        required: ['city'],
        type: 'object',
      },
    })
    const bridge = await serving(zod, pydantic)

    for (const tool of (await bridge.list()).tools)
      expect(tool.inputSchema).toMatchObject({ type: 'object', required: ['city'] })
    for (const name of ['get_weather', 'from_pydantic']) {
      expect(await bridge.call(name, { city: 5 })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('/city') }],
      })
      expect(await bridge.call(name, { city: 'Rome' })).not.toHaveProperty('isError')
    }
  })

  test.each([
    ['read', true],
    ['write', false],
    ['analysis', true],
    ['delete', false],
    ['side_effect', false],
  ] as const)('category %s has readOnlyHint %s [D4-D6]', async (category, readOnlyHint) => {
    expect(await hintsOf({ category })).toMatchObject({ readOnlyHint })
  })

  test.each([
    ['write', 'high', true],
    ['write', 'medium', false],
    ['write', 'low', false],
    ['read', 'high', false],
    ['analysis', 'high', false],
    ['side_effect', 'high', true],
    ['side_effect', 'low', false],
    ['delete', 'low', true],
  ] as const)(
    '%s with %s consequence has destructiveHint %s [D7, D8, D28]',
    async (category, consequenceLevel, destructiveHint) => {
      expect(await hintsOf({ category, consequenceLevel })).toMatchObject({ destructiveHint })
    },
  )

  test('the timeout is enforced by the server and is no protocol field [D9]', async () => {
    const endless = anyTool({ timeout: 30, execute: () => new Promise(() => {}) })
    const bridge = await serving(endless)

    expect(await bridge.call('get_weather')).toMatchObject({
      isError: true,
      _meta: { 'dev.drawbridge/failure': { code: 'timed_out' } },
    })
    const [tool] = (await bridge.list()).tools
    expect(Object.keys(tool ?? {})).not.toContain('timeout')
    expect(tool?._meta?.['dev.drawbridge/rules']).toEqual({ timeout: 30 })
  })

  test('tags and version travel in the metadata, and the server has its own version [D12, D30]', async () => {
    const tool = await toolOf({ tags: ['weather'], version: '2.1.0' })
    expect(tool._meta?.['dev.drawbridge/extras']).toMatchObject({
      tags: ['weather'],
      version: '2.1.0',
    })
    const bridge = createDrawbridge({ version: '3.0.0', sources: [] })
    expect(bridge.identity.version).toBe('3.0.0')
  })

  test('a write that must be confirmed is marked destructive; a read is not made to look like one [D13, D27]', async () => {
    expect(await hintsOf({ category: 'write', requiresConfirmation: true })).toMatchObject({
      destructiveHint: true,
    })
    const read = await toolOf({ category: 'read', requiresConfirmation: true })
    expect(read.annotations).toMatchObject({ destructiveHint: false, readOnlyHint: true })
    expect(read._meta?.['dev.drawbridge/rules']).toMatchObject({ approval: true })
  })
})

describe('annotation inference', () => {
  test.each([
    ['read', 'low', true, false, true, true],
    ['write', 'low', false, false, false, true],
    ['write', 'high', false, true, false, true],
    ['analysis', 'low', true, false, true, false],
  ] as const)(
    '%s, %s: readOnly %s, destructive %s, idempotent %s, openWorld %s [D14-D17]',
    async (category, consequenceLevel, readOnlyHint, destructiveHint, idempotentHint, openWorldHint) => {
      expect(await hintsOf({ category, consequenceLevel })).toEqual({
        readOnlyHint,
        destructiveHint,
        idempotentHint,
        openWorldHint,
      })
    },
  )

  test('a definition says what its category cannot know: idempotent writes, local reads [D15, D18]', async () => {
    const write = await hintsOf({ category: 'write', effects: { repeatable: true } })
    const read = await hintsOf({ category: 'read', effects: { reachesOut: false } })
    expect(write).toMatchObject({ idempotentHint: true })
    expect(read).toMatchObject({ openWorldHint: false })
  })
})

describe('schema conversion', () => {
  const expected = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      units: { type: 'string', enum: ['metric', 'imperial'], default: 'metric' },
    },
    required: ['city'],
  }

  test('Zod needs no conversion by the developer, as an object or as a raw shape [D19, D20]', async () => {
    const shape = { city: z.string(), units: z.enum(['metric', 'imperial']).default('metric') }
    expect((await toolOf({ schema: z.object(shape) })).inputSchema).toEqual(expected)
    expect((await toolOf({ schema: shape })).inputSchema).toEqual(expected)
  })

  test('JSON Schema from any other library is taken as it is [D23, D24]', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'City name' },
        units: { type: 'string', enum: ['metric', 'imperial'], default: 'metric' },
      },
      required: ['city'],
    }
    expect((await toolOf({ schema })).inputSchema).toEqual(schema)
  })
})

describe('response mapping', () => {
  const fetchedAt = '2026-11-15T12:00:00.000Z'
  const answering = async (parts: Partial<ToolDefinition>) =>
    (await serving(anyTool(parts))).call('get_weather')

  test('data becomes structured content, with text that a reader can do with alone [D10, D25]', async () => {
    const data = { temp: 72, conditions: 'sunny' }
    const text = ({ temp, conditions }: typeof data) =>
      `Temperature: ${temp}°F, Conditions: ${conditions}`
    const execute = () => ({ tool: 'get_weather', fetchedAt, data })

    expect(await answering({ execute, text: text as never })).toMatchObject({
      content: [{ type: 'text', text: 'Temperature: 72°F, Conditions: sunny' }],
      structuredContent: data,
    })
    expect(await answering({ execute })).toMatchObject({
      content: [{ type: 'text', text: JSON.stringify(data) }],
      structuredContent: data,
    })
  })

  test('plain data is a result as well, and so is none', async () => {
    expect(await answering({ execute: () => ({ temp: 1 }) })).toMatchObject({
      structuredContent: { temp: 1 },
    })
    expect(await answering({ execute: () => 'sunny' })).toMatchObject({
      content: [{ text: 'sunny' }],
    })
    expect(await answering({ execute: () => undefined })).toMatchObject({ content: [{ text: '' }] })
  })

  test('an error becomes text that begins with Error and is marked as one [D11, D26]', async () => {
    const execute = () => ({ tool: 'get_weather', fetchedAt, error: 'City not found' })
    const result = await answering({ execute })
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'Error: City not found' }],
      isError: true,
    })
    expect(result).not.toHaveProperty('structuredContent')
  })

  test('fetchedAt travels in the metadata, where no output schema can forbid it [D31]', async () => {
    const execute = () => ({ tool: 'get_weather', fetchedAt, data: { temp: 1 } })
    expect(
      await answering({ execute, outputSchema: z.strictObject({ temp: z.number() }) }),
    ).toMatchObject({
      _meta: { 'dev.drawbridge/fetched-at': fetchedAt },
      structuredContent: { temp: 1 },
    })
  })
})

describe('dependencies', () => {
  test('dependsOn travels with the tool; unknown and circular ones are found at load [D29]', async () => {
    const bridge = await serving(
      anyTool({ name: 'a', dependsOn: ['b'] }),
      anyTool({ name: 'b', dependsOn: ['c'] }),
      anyTool({ name: 'c', dependsOn: ['a'] }),
      anyTool({ name: 'd', dependsOn: ['nowhere'] }),
      anyTool({ name: 'e', dependsOn: ['a'] }),
    )

    const found = bridge.diagnostics.map(({ code, message }) => `${code} ${message}`)
    expect(found).toEqual([
      'dependency_cycle a depends on itself: a → b → c → a.',
      'dependency_cycle b depends on itself: b → c → a → b.',
      'dependency_cycle c depends on itself: c → a → b → c.',
      'dependency_unknown d depends on nowhere, which this source does not have.',
    ])
    const { tools } = await bridge.list()
    expect(tools.map((tool) => tool._meta?.['dev.drawbridge/extras'])).toContainEqual(
      expect.objectContaining({ dependsOn: ['nowhere'] }),
    )
  })
})

describe('one bad definition', () => {
  test.each([
    [
      'an unusable schema',
      anyTool({ name: 'bad', schema: z.array(z.string()) }),
      'schema_unusable',
    ],
    [
      'an unknown category',
      { ...anyTool({ name: 'bad' }), category: 'portfolio' },
      'definition_invalid',
    ],
    ['no description', { ...anyTool({ name: 'bad' }), description: '' }, 'definition_invalid'],
    ['no schema', { ...anyTool({ name: 'bad' }), schema: undefined }, 'definition_invalid'],
    ['no execute', { name: 'bad', description: 'x', schema: z.object({}) }, 'definition_invalid'],
  ])('leaves its neighbours alone: %s', async (_, bad, code) => {
    const bridge = await serving(anyTool(), bad)
    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_weather'])
    expect(bridge.diagnostics.map((one) => one.code)).toContain(code)
  })

  test('a field that means nothing here is said, not silently dropped', async () => {
    const bridge = await serving({ ...anyTool(), triggerPhrases: ['rain'] })
    expect(bridge.diagnostics).toMatchObject([
      { code: 'field_ignored', pointer: '/default/0/triggerPhrases' },
    ])
  })
})

test('deprecated tools answer without being listed; removed ones are gone', async () => {
  const bridge = await serving(
    anyTool({ name: 'old', status: 'deprecated', execute: () => ({ still: 'here' }) }),
    anyTool({ name: 'gone', status: 'removed' }),
    anyTool({ name: 'new' }),
  )
  expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['new'])
  expect(await bridge.call('old')).toMatchObject({ structuredContent: { still: 'here' } })
  await expect(bridge.call('gone')).rejects.toThrow('Unknown tool')
})

test('execute is typed by schema, and text by execute', () => {
  defineTool({
    name: 'get_weather',
    description: 'Returns the weather.',
    category: 'read',
    schema: z.object({ city: z.string(), days: z.number().default(1) }),
    execute: ({ city, days }) => ({ summary: city.toUpperCase() + days.toFixed() }),
    text: ({ summary }) => summary.trim(),
  })
})
