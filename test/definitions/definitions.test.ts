import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createDrawbridge,
  defineTool,
  definitionSource,
  type ToolDefinition,
} from '../../src/index.ts'

const aTool = (parts: Partial<ToolDefinition> = {}): ToolDefinition => ({
  name: 'get_weather',
  description:
    'Returns the weather of a city. Use when … . For forecasts use get_forecast instead.',
  schema: z.object({}),
  category: 'read',
  execute: () => ({}),
  ...parts,
})

async function serve(...definitions: unknown[]) {
  const bridge = createDrawbridge({ sources: [definitionSource(definitions as ToolDefinition[])] })
  await bridge.ready
  return bridge
}

async function toolOf(parts: Partial<ToolDefinition> = {}) {
  const [tool] = (await (await serve(aTool(parts))).list()).tools
  if (!tool) throw new Error('not listed')
  return tool
}

const hintsOf = async (parts: Partial<ToolDefinition>) => (await toolOf(parts)).annotations

describe('core field mapping', () => {
  test('the name is the registered tool name, and a name that is not snake_case gives a diagnostic [D1]', async () => {
    expect((await toolOf()).name).toBe('get_weather')
    const bridge = await serve(aTool({ name: 'GetWeather' }))
    expect(bridge.diagnostics).toMatchObject([{ code: 'name_style', severity: 'info' }])
  })

  test('a description of any length reaches the client unchanged [D2]', async () => {
    const description = `Routing contract. ${'Use when… '.repeat(5000)}`
    expect((await toolOf({ description })).description).toBe(description)
  })

  test('the schema becomes inputSchema and is enforced, from Zod or Pydantic [D3]', async () => {
    const zod = aTool({ schema: z.object({ city: z.string() }) })
    const pydantic = aTool({
      name: 'from_pydantic',
      schema: {
        properties: { city: { title: 'City', type: 'string' } },
        required: ['city'],
        type: 'object',
      },
    })
    const bridge = await serve(zod, pydantic)

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

  test('the timeout is enforced by the server and is not a protocol field [D9]', async () => {
    const endlessTool = aTool({ timeout: 30, execute: () => new Promise(() => {}) })
    const bridge = await serve(endlessTool)

    expect(await bridge.call('get_weather')).toMatchObject({
      isError: true,
      _meta: { 'dev.drawbridge/failure': { code: 'timed_out' } },
    })
    const [tool] = (await bridge.list()).tools
    expect(Object.keys(tool ?? {})).not.toContain('timeout')
    expect(tool?._meta?.['dev.drawbridge/rules']).toEqual({ timeout: 30 })
  })

  test('tags and version are in the metadata, and the server has its own version [D12, D30]', async () => {
    const tool = await toolOf({ tags: ['weather'], version: '2.1.0' })
    expect(tool._meta?.['dev.drawbridge/extras']).toMatchObject({
      tags: ['weather'],
      version: '2.1.0',
    })
    const bridge = createDrawbridge({ version: '3.0.0', sources: [] })
    expect(bridge.identity.version).toBe('3.0.0')
  })

  test('a write with requiresConfirmation is destructive; a read is not [D13, D27]', async () => {
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

  test('effects override the category: idempotent writes, local reads [D15, D18]', async () => {
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

  test('Zod is converted automatically, as an object or as a raw shape [D19, D20]', async () => {
    const shape = { city: z.string(), units: z.enum(['metric', 'imperial']).default('metric') }
    expect((await toolOf({ schema: z.object(shape) })).inputSchema).toEqual(expected)
    expect((await toolOf({ schema: shape })).inputSchema).toEqual(expected)
  })

  test('JSON Schema from any other library is used unchanged [D23, D24]', async () => {
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
  const callTool = async (parts: Partial<ToolDefinition>) =>
    (await serve(aTool(parts))).call('get_weather')

  test('data becomes structured content and text, formatted or as JSON [D10, D25]', async () => {
    const data = { temp: 72, conditions: 'sunny' }
    const text = ({ temp, conditions }: typeof data) =>
      `Temperature: ${temp}°F, Conditions: ${conditions}`
    const execute = () => ({ tool: 'get_weather', fetchedAt, data })

    expect(await callTool({ execute, text: text as never })).toMatchObject({
      content: [{ type: 'text', text: 'Temperature: 72°F, Conditions: sunny' }],
      structuredContent: data,
    })
    expect(await callTool({ execute })).toMatchObject({
      content: [{ type: 'text', text: JSON.stringify(data) }],
      structuredContent: data,
    })
  })

  test('plain data, a string and undefined are valid results', async () => {
    expect(await callTool({ execute: () => ({ temp: 1 }) })).toMatchObject({
      structuredContent: { temp: 1 },
    })
    expect(await callTool({ execute: () => 'sunny' })).toMatchObject({
      content: [{ text: 'sunny' }],
    })
    expect(await callTool({ execute: () => undefined })).toMatchObject({ content: [{ text: '' }] })
  })

  test('an error becomes text with the prefix "Error: " and isError [D11, D26]', async () => {
    const execute = () => ({ tool: 'get_weather', fetchedAt, error: 'City not found' })
    const result = await callTool({ execute })
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'Error: City not found' }],
      isError: true,
    })
    expect(result).not.toHaveProperty('structuredContent')
  })

  test('fetchedAt is in the metadata, so that a strict output schema does not reject it [D31]', async () => {
    const execute = () => ({ tool: 'get_weather', fetchedAt, data: { temp: 1 } })
    expect(
      await callTool({ execute, outputSchema: z.strictObject({ temp: z.number() }) }),
    ).toMatchObject({
      _meta: { 'dev.drawbridge/fetched-at': fetchedAt },
      structuredContent: { temp: 1 },
    })
  })
})

describe('dependencies', () => {
  test('dependsOn is in the metadata; unknown and circular dependencies are reported at load [D29]', async () => {
    const bridge = await serve(
      aTool({ name: 'a', dependsOn: ['b'] }),
      aTool({ name: 'b', dependsOn: ['c'] }),
      aTool({ name: 'c', dependsOn: ['a'] }),
      aTool({ name: 'd', dependsOn: ['nowhere'] }),
      aTool({ name: 'e', dependsOn: ['a'] }),
    )

    const messages = bridge.diagnostics.map(({ code, message }) => `${code} ${message}`)
    expect(messages).toEqual([
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

describe('an invalid definition', () => {
  test.each([
    ['an unusable schema', aTool({ name: 'bad', schema: z.array(z.string()) }), 'schema_unusable'],
    [
      'an unknown category',
      { ...aTool({ name: 'bad' }), category: 'portfolio' },
      'definition_invalid',
    ],
    ['no description', { ...aTool({ name: 'bad' }), description: '' }, 'definition_invalid'],
    ['no schema', { ...aTool({ name: 'bad' }), schema: undefined }, 'definition_invalid'],
    ['no execute', { name: 'bad', description: 'x', schema: z.object({}) }, 'definition_invalid'],
  ])('does not affect other definitions: %s', async (_, definition, expectedCode) => {
    const bridge = await serve(aTool(), definition)
    expect((await bridge.list()).tools.map(({ name }) => name)).toEqual(['get_weather'])
    expect(bridge.diagnostics.map(({ code }) => code)).toContain(expectedCode)
  })

  test('an unknown field gives a diagnostic', async () => {
    const bridge = await serve({ ...aTool(), triggerPhrases: ['rain'] })
    expect(bridge.diagnostics).toMatchObject([
      { code: 'field_ignored', pointer: '/default/0/triggerPhrases' },
    ])
  })
})

test('deprecated tools are callable but not listed; removed tools are neither', async () => {
  const bridge = await serve(
    aTool({ name: 'old', status: 'deprecated', execute: () => ({ still: 'here' }) }),
    aTool({ name: 'gone', status: 'removed' }),
    aTool({ name: 'new' }),
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
