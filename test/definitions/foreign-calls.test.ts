import { expect, test } from 'vitest'
import { createDrawbridge, definitionSource, z } from '../../src/index.ts'

const names = { name: 'a_tool', description: 'A tool.', category: 'read' }
const noInput = { type: 'object', properties: {} }

const serve = (exports: object) => createDrawbridge({ sources: [definitionSource(exports)] })

/** The answer to a call of a tool whose function throws. */
async function throwing(error: unknown): Promise<string> {
  const handler = () => {
    throw error
  }
  const bridge = serve({ tools: [{ ...names, inputSchema: z.object({}), handler }] })
  return JSON.stringify(await bridge.call('a_tool', {}))
}

class NotFoundError extends Error {
  override name = 'NotFoundError'
}
class OutOfStock extends Error {}

test.each([
  ['Error', new Error('There is no order 7.')],
  ['NotFoundError', new NotFoundError('There is no order 7.')],
  ['a class that sets no name', new OutOfStock('There is no order 7.')],
  [
    'ValidationError',
    Object.assign(new Error('There is no order 7.'), { name: 'ValidationError' }),
  ],
])('the message of an error of the author reaches the model: %s', async (_, error) => {
  expect(await throwing(error)).toContain('There is no order 7.')
})

const named = (name: string) => Object.assign(new Error('secret'), { name })

test.each<readonly [string, Error]>([
  ['a numeric code of a driver', Object.assign(new Error('E11000 at 10.0.0.1'), { code: 11000 })],
  ['a code of Node', Object.assign(new NotFoundError('secret'), { code: 'ENOENT' })],
  ['a validator', Object.assign(new Error('[{ "path": [] }]'), { issues: [] })],
  ['an HTTP client', Object.assign(new Error('secret'), { response: {} })],
  ['a query', Object.assign(new NotFoundError('secret'), { query: 'select' })],
  ['a bug', new TypeError('secret')],
  ['several errors', new AggregateError([], 'secret')],
  ...[
    'TypeError',
    'AssertionError',
    'MongoServerError',
    'PrismaClientInitializationError',
    'SequelizeDatabaseError',
    'DrizzleQueryError',
    'QueryFailedError',
    'ConnectionTimeoutError',
    'ReplyError',
    'FetchError',
    'HTTPError',
    'DOMException',
  ].map((name) => [name, named(name)] as const),
])('an error with the marks of %s stays internal', async (_, error) => {
  expect(await throwing(error)).toContain('temporarily unavailable')
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
