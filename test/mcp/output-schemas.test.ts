import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { definitionSource } from '../../src/index.ts'
import { aClientOf2025, aModernClient } from '../support/official-clients.ts'
import { serveHere } from '../support/serve-here.ts'

/** Official clients validate a result against the output schema, and throw if it does not match. */
async function resultsOf(outputSchema: object, value: unknown) {
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
  const clients = [await aModernClient(url), await aClientOf2025(url)]
  return Promise.all(
    clients.map(async (client) => {
      // The list has the output schema.
      await client.listTools()
      return client.callTool({ name: 'get_value', arguments: {} })
    }),
  )
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
