import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definitionSource } from '../../src/index.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'

/** Official clients validate a result against the output schema, and throw if it does not match. */
async function resultsOf(outputSchema: object, value: unknown) {
  const clients = await clientsOf(outputSchema, value)
  return Promise.all(
    clients.map(async (client) => {
      // The list has the output schema.
      await client.listTools()
      return client.callTool({ name: 'get_value', arguments: {} })
    }),
  )
}

async function clientsOf(outputSchema: object, value: unknown) {
  const { url } = await serveHere({
    sources: [
      definitionSource([
        {
          name: 'get_value',
          description: 'Returns a value.',
          category: 'read',
          schema: z.object({}),
          outputSchema,
          execute: () => value,
        },
      ]),
    ],
  })
  return [await aModernClient(url), await aClientOf2025(url)] as const
}

describe('a result that is a string', () => {
  test.each<[string, object, unknown, string]>([
    ['z.string()', z.string(), 'Oslo', 'Oslo'],
    ['an empty string', z.string(), '', ''],
    ['z.enum()', z.enum(['red', 'green']), 'red', 'red'],
    ['z.bigint()', z.bigint(), 12n, '12'],
    ['z.date()', z.date(), new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a union', z.union([z.object({ a: z.number() }), z.string()]), 'none', 'none'],
    ['JSON Schema', { type: 'string' }, 'Oslo', 'Oslo'],
  ])('of %s is structured content and text', async (_, schema, value, text) => {
    const [now, of2025] = await resultsOf(schema, value)

    expect(now).toMatchObject({ content: [{ type: 'text', text }], structuredContent: text })
    expect(of2025).toMatchObject({
      content: [{ type: 'text', text }],
      structuredContent: { result: text },
    })
    expect([now?.content, of2025?.content]).toMatchObject([{ length: 1 }, { length: 1 }])
  })
})

describe('a result that Zod accepts', () => {
  test.each<[string, z.ZodType, unknown]>([
    ['a URL that is no URI', z.url(), 'https://x.example/ä|b'],
    ['a URL object', z.instanceof(URL), new URL('https://x.example/a|b')],
    ['an address with letters of other alphabets', z.email({ pattern: /@/ }), 'müller@x.example'],
    ['text that matches because of a flag', z.string().regex(/^abc$/i), 'ABC'],
    ['text that matches one line', z.string().regex(/^b$/m), 'a\nb'],
    ['an escape without meaning', z.string().regex(/^a-b$/), 'a-b'],
  ])('is valid for official clients: %s', async (_, schema, value) => {
    const results = await resultsOf(z.object({ value: schema }), { value })

    for (const { structuredContent } of results)
      expect(structuredContent).toEqual({ value: String(value) })
  })

  test('but that date-time cannot express is withheld', async () => {
    const results = await resultsOf(z.object({ at: z.date() }), { at: new Date(8.64e15) })

    expect(results).toMatchObject([{ isError: true }, { isError: true }])
  })
})

const pair = (first: object) => ({ type: 'array', prefixItems: [first], items: { type: 'number' } })

describe('an output schema', () => {
  test.each<[string, object, unknown]>([
    [
      'a tuple with a rest',
      z.object({ a: z.tuple([z.string()]).rest(z.number()) }),
      { a: ['x', 1] },
    ],
    ['a tuple', z.tuple([z.string(), z.number()]), ['x', 1]],
    ['a map of pairs', z.object({ a: z.map(z.number(), z.string()) }), { a: new Map([[1, 'x']]) }],
    ['a price', z.object({ a: z.number().multipleOf(0.01) }), { a: 19.99 }],
    [
      'a price in JSON Schema',
      { type: 'object', properties: { a: { type: 'number', multipleOf: 0.01 } } },
      { a: 19.99 },
    ],
    [
      'a list of draft-07',
      {
        $schema: 'http://json-schema.org/draft-07/schema#',
        type: 'object',
        properties: { a: { items: [{ type: 'string' }], additionalItems: false } },
      },
      { a: ['x'] },
    ],
    [
      'contains that may be missing',
      { type: 'object', properties: { a: { contains: { type: 'string' }, minContains: 0 } } },
      { a: [1] },
    ],
    [
      'oneOf, whose members differ in the first item',
      {
        type: 'object',
        properties: { a: { oneOf: [pair({ const: 'x' }), pair({ const: 'y' })] } },
      },
      { a: ['x', 1] },
    ],
    [
      'oneOf beside anyOf and not',
      {
        type: 'object',
        properties: {
          a: {
            anyOf: [{ type: 'array' }],
            oneOf: [{ prefixItems: [{ const: 'x' }] }, { prefixItems: [{ const: 'y' }] }],
            not: { prefixItems: [{ const: 'z' }] },
          },
        },
      },
      { a: ['x'] },
    ],
    [
      'a condition and unevaluatedProperties',
      {
        type: 'object',
        if: { dependentRequired: { a: ['b'] } },
        else: { properties: { a: true }, required: ['c'] },
        unevaluatedProperties: { type: 'string' },
      },
      { a: 1, c: 'x' },
    ],
    [
      'a reference into what is left out',
      {
        type: 'object',
        properties: {
          a: { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
          b: { $ref: '#/properties/a/items' },
        },
      },
      { a: ['x', 1], b: 2 },
    ],
  ])('accepts valid results in official clients of both eras: %s', async (_, schema, value) => {
    const results = await resultsOf(schema, value)

    expect(results.map(({ isError }) => isError ?? false)).toEqual([false, false])
  })

  test('keeps what a validator of 2025 reads in the same way', async () => {
    const schema = z.object({ a: z.tuple([z.string()]).rest(z.number()), b: z.number() })
    const [, client] = await clientsOf(schema, { a: ['x'], b: 1 })
    const { tools } = await client.listTools()

    expect(tools[0]?.outputSchema).toMatchObject({
      properties: {
        a: { type: 'array', prefixItems: [{ type: 'string' }], minItems: 1 },
        b: { type: 'number' },
      },
      required: ['a', 'b'],
    })
  })
})

test('a list with true and false as schemas of properties is read by official clients', async () => {
  const schema = { type: 'object', properties: { a: true, b: false, c: { type: 'number' } } }
  const { url } = await serveHere({
    sources: [
      definitionSource([
        {
          name: 'get_value',
          description: 'Returns a value.',
          category: 'read',
          schema,
          outputSchema: schema,
          execute: () => ({ a: 1 }),
        },
      ]),
    ],
  })
  for (const client of [await aModernClient(url), await aClientOf2025(url)]) {
    const { tools } = await client.listTools()

    expect(tools).toMatchObject([{ inputSchema: { properties: { c: { type: 'number' } } } }])
    expect(await client.callTool({ name: 'get_value', arguments: { a: 2 } })).toMatchObject({
      structuredContent: { a: 1 },
    })
  }
})
