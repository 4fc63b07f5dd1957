import { expect, test } from 'vitest'
import { createDrawbridge, definitionSource, z } from '../../src/index.ts'

const names = { name: 'a_tool', description: 'A tool.', category: 'read' }
const noInput = { type: 'object', properties: {} }

const serve = (exports: object) => createDrawbridge({ sources: [definitionSource(exports)] })

test.each([
  ['a numeric code of a driver', Object.assign(new Error('E11000 at 10.0.0.1'), { code: 11000 })],
  ['a validator', Object.assign(new Error('[{ "path": [] }]'), { issues: [] })],
  ['another name', Object.assign(new Error('secret'), { name: 'MongoServerError' })],
])('an error with the marks of %s stays internal', async (_, error) => {
  const bridge = serve({
    tools: [
      {
        ...names,
        inputSchema: z.object({}),
        handler: () => {
          throw error
        },
      },
    ],
  })

  const text = JSON.stringify(await bridge.call('a_tool', {}))

  expect(text).toContain('temporarily unavailable')
})

test('structured content alone is rendered by the pipeline, which knows bigints', async () => {
  const handler = () => ({ structuredContent: { count: 2n } })
  const bridge = serve({ tools: [{ ...names, inputSchema: z.object({}), handler }] })
  const plain = serve({
    tools: [{ ...names, parameters: noInput, handler: () => ({ count: 2n }) }],
  })

  const result = await bridge.call('a_tool', {})

  expect(result.content).toEqual((await plain.call('a_tool', {})).content)
})

test('a function of a map has the map as its this', async () => {
  const bridge = serve({
    tools: [{ ...names, input_schema: noInput }],
    handlers: {
      greeting: 'Hello',
      a_tool() {
        return { said: this.greeting }
      },
    },
  })

  expect(await bridge.call('a_tool', {})).toMatchObject({ structuredContent: { said: 'Hello' } })
})

test('a key that the tool declares itself is part of its raw input', async () => {
  const declared = { type: 'object', properties: { idempotency_key: { type: 'string' } } }
  const bridge = serve({
    tools: [
      {
        ...names,
        type: 'function',
        parameters: declared,
        invoke: (_: unknown, text: string) => ({ got: JSON.parse(text) }),
      },
    ],
  })

  const result = await bridge.call('a_tool', { idempotency_key: 'k-1' })

  expect(result).toMatchObject({ structuredContent: { got: { idempotency_key: 'k-1' } } })
})

test('a getter of a prompt that throws costs only this prompt', async () => {
  const bridge = serve({
    broken: {
      name: 'broken',
      description: 'B.',
      render: () => 'x',
      get title(): string {
        throw new Error('no title')
      },
    },
    tools: [{ ...names, parameters: noInput, handler: () => ({ ok: true }) }],
  })

  expect(await bridge.call('a_tool', {})).toMatchObject({ structuredContent: { ok: true } })
})
