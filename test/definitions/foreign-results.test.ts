import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { McpServer as McpServer2 } from '@modelcontextprotocol/server'
import { describe, expect, test } from 'vitest'
import {
  createDrawbridge,
  defineTool,
  definitionSource,
  type OperatorFailure,
  z,
} from '../../src/index.ts'
import { serveHere } from '../support/serve-here.ts'
import { aModernPost, answerOf, post } from '../support/wire.ts'

const text = (value: string) => ({ type: 'text', text: value })
const outOfOrder = {
  isError: true,
  content: [{ text: expect.stringContaining('temporarily unavailable') }],
}

async function callWith(tool: object, input: object = {}) {
  const failures: OperatorFailure[] = []
  const bridge = createDrawbridge({
    sources: [
      definitionSource({
        tools: [{ name: 'a_tool', description: 'A tool.', category: 'read', ...tool }],
      }),
    ],
    onOperatorFailure: (failure) => failures.push(failure),
  })
  const result = await bridge.call('a_tool', input)
  return { result, causes: failures.map(({ failure }) => failure.cause ?? '') }
}

const returning = (value: unknown) => ({
  parameters: { type: 'object', properties: {} },
  handler: () => value,
})
const mcpHandler = (value: unknown) => ({ inputSchema: z.object({}), handler: () => value })
const throwing = (error: unknown) => ({
  inputSchema: z.object({}),
  handler: () => {
    throw error
  },
})

describe('a result in the form of MCP', () => {
  const blocks = [
    text('one'),
    { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'https://a.example/1', name: 'one', mimeType: 'text/html' },
    { type: 'resource', resource: { uri: 'file:///a', blob: 'AA==' } },
  ]

  test.each([
    ['of a plain function', returning],
    ['of an MCP handler', mcpHandler],
    [
      'of defineTool',
      (value: unknown) =>
        defineTool({
          name: 'a_tool',
          description: 'A.',
          category: 'read',
          schema: z.object({}),
          execute: () => value,
        }),
    ],
  ])('%s passes through with all its blocks', async (_, toTool) => {
    const { result } = await callWith(toTool({ content: blocks, structuredContent: { a: 1 } }))

    expect(result).toMatchObject({ content: blocks, structuredContent: { a: 1 } })
    expect(result).not.toHaveProperty('isError')
  })

  test('with isError is a failure that the model reads, with its blocks and without a prefix', async () => {
    const { result } = await callWith(returning({ content: [text('No such page')], isError: true }))

    expect(result).toMatchObject({ isError: true, content: [text('No such page')] })
    expect(result._meta?.['dev.drawbridge/failure']).toMatchObject({ code: 'tool_error' })
  })

  test.each([
    ['a block that is none', { content: [{ type: 'image', data: 5 }] }, /invalid content blocks/],
    [
      'a block that is none in an error',
      { content: [{ type: 'text' }], isError: true },
      /invalid content blocks/,
    ],
    ['no content', { weather: 'rain' }, /no content/],
    ['a question to the client', { resultType: 'input_required' }, /input_required/],
    ['nothing', undefined, /did not return an MCP result/],
  ])('of an MCP handler with %s is an error of the operator', async (_, value, cause) => {
    const { result, causes } = await callWith(mcpHandler(value))

    expect(result).toMatchObject(outOfOrder)
    expect(causes).toEqual([expect.stringMatching(cause)])
  })

  test('is data where it has other fields, or where the output schema describes it', async () => {
    const article = { content: [text('one')], author: 'Ann' }
    const document = { content: [{ type: 'text', text: 'one' }] }
    const outputSchema = {
      type: 'object',
      properties: { content: { type: 'array' } },
      required: ['content'],
    }

    expect((await callWith(returning(article))).result).toMatchObject({
      structuredContent: article,
    })
    expect((await callWith({ ...returning(document), outputSchema })).result).toMatchObject({
      structuredContent: document,
    })
  })

  test('that has only structured content is shown as text too', async () => {
    const { result } = await callWith(mcpHandler({ structuredContent: { a: 1 } }))

    expect(result).toMatchObject({ content: [text('{"a":1}')], structuredContent: { a: 1 } })
  })
})

describe('a thrown error of a dialect whose library gives it to the model', () => {
  test('reaches the model as one line, without its stack', async () => {
    const { result } = await callWith(
      throwing(new Error('City not found\n    at secret (/srv/app.ts:1)')),
    )

    expect(result).toMatchObject({ isError: true, content: [text('Error: City not found')] })
  })

  test.each([
    ['a TypeError', new TypeError('reading x of undefined')],
    [
      'an error of Node',
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.5'), { code: 'ECONNREFUSED' }),
    ],
    ['no Error at all', 'password=1234'],
    ['several errors', new AggregateError([], 'all failed')],
  ])('%s is a bug, and its message is only in the log', async (_, error) => {
    const { result, causes } = await callWith(throwing(error))

    expect(result).toMatchObject(outOfOrder)
    expect(causes).toHaveLength(1)
  })
})

describe('cancellation reaches the function in the form that its dialect has', () => {
  type Signals = (signal: AbortSignal | undefined) => Promise<void>
  const untilAborted: Signals = (signal) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
  const jsonSchema = { type: 'object', properties: {} }

  test.each<[string, (seen: Signals) => object]>([
    [
      'AI SDK',
      (seen) => ({
        inputSchema: z.object({}),
        execute: (_: object, options: { abortSignal: AbortSignal }) => seen(options.abortSignal),
      }),
    ],
    [
      'MCP SDK 1',
      (seen) => ({
        inputSchema: z.object({}),
        handler: (_: object, extra: { signal: AbortSignal }) => seen(extra.signal),
      }),
    ],
    [
      'MCP SDK 2',
      (seen) => ({
        inputSchema: z.object({}),
        handler: (_: object, context: { mcpReq: { signal: AbortSignal } }) =>
          seen(context.mcpReq.signal),
      }),
    ],
    [
      'LangChain',
      (seen) => ({
        lc_namespace: [],
        schema: jsonSchema,
        invoke: (_: object, config: { signal: AbortSignal }) => seen(config.signal),
      }),
    ],
    [
      'OpenAI Agents SDK',
      (seen) => ({
        type: 'function',
        parameters: jsonSchema,
        invoke: (_: object, __: string, details: { signal: AbortSignal }) => seen(details.signal),
      }),
    ],
    [
      'Anthropic',
      (seen) => ({
        input_schema: jsonSchema,
        run: (_: object, context: { signal: AbortSignal }) => seen(context.signal),
      }),
    ],
    [
      'agent-tool-forge',
      (seen) => ({
        schema: { city: { type: 'string', optional: true } },
        execute: (_: object, context: { abortSignal: AbortSignal }) => seen(context.abortSignal),
      }),
    ],
    [
      'a plain function',
      (seen) => ({
        parameters: jsonSchema,
        handler: (_: object, context: { signal: AbortSignal }) => seen(context.signal),
      }),
    ],
  ])('%s', async (_, toTool) => {
    let stop: (() => void) | undefined
    const aborted = new Promise<void>((resolve) => {
      stop = resolve
    })
    const tool = toTool((signal) => {
      signal?.addEventListener('abort', () => stop?.())
      return untilAborted(signal)
    })

    const { result } = await callWith({ ...tool, timeout: 50 })
    await aborted

    expect(result._meta?.['dev.drawbridge/failure']).toMatchObject({ code: 'timed_out' })
  })
})

describe('an McpServer in code', () => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('hidden', { description: 'x' }, async () => ({ content: [] })).disable()
  server.registerPrompt(
    'summarise',
    { description: 'Summarises.', argsSchema: { topic: z.string().describe('About what') } },
    ({ topic }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Summarise ${topic}` } }],
    }),
  )
  server.registerResource('latest', 'notes://latest', { mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'the latest' }],
  }))
  server.registerResource(
    'note',
    new ResourceTemplate('notes://by-id/{id}', { list: undefined }),
    { description: 'One note.' },
    async (uri, { id }) => ({ contents: [{ uri: uri.href, text: `note ${id}` }] }),
  )
  const ask = async (method: string, params: Record<string, unknown>) => {
    const { url } = await serveHere({ sources: [definitionSource(server)] })
    const { result } = await answerOf(await post(url, aModernPost(method, params)))
    return result
  }

  test('serves its prompts', async () => {
    const { prompts } = await ask('prompts/list', {})
    expect(prompts).toMatchObject([
      {
        name: 'summarise',
        arguments: [{ name: 'topic', description: 'About what', required: true }],
      },
    ])
    expect(
      await ask('prompts/get', { name: 'summarise', arguments: { topic: 'tea' } }),
    ).toMatchObject({
      messages: [{ role: 'user', content: text('Summarise tea') }],
    })
  })

  test.each([
    [
      '1',
      (name: string, argsSchema: object, render: (args: { mood: string }) => object) => {
        const one = new McpServer({ name: 'a', version: '1.0.0' })
        one.registerPrompt(
          name,
          { argsSchema: argsSchema as { mood: z.ZodString } },
          render as never,
        )
        return one
      },
    ],
    [
      '2',
      (name: string, argsSchema: object, render: (args: { mood: string }) => object) => {
        const two = new McpServer2({ name: 'a', version: '1.0.0' })
        two.registerPrompt(
          name,
          { argsSchema: z.object(argsSchema as never) as never },
          render as never,
        )
        return two
      },
    ],
  ])(
    'of version %s parses the arguments of its prompts once, and says which are invalid',
    async (_, toServer) => {
      const moods = { mood: z.enum(['calm', 'loud']).transform((mood) => mood.toUpperCase()) }
      const source = definitionSource(
        toServer('speak', moods, ({ mood }) => ({
          messages: [{ role: 'user', content: { type: 'text', text: mood } }],
        })),
      )
      const { url } = await serveHere({ sources: [source] })
      const get = async (mood: string) =>
        answerOf(
          await post(url, aModernPost('prompts/get', { name: 'speak', arguments: { mood } })),
        )

      expect((await get('calm')).result).toMatchObject({ messages: [{ content: text('CALM') }] })
      expect((await get('sad')).error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('/mood'),
      })
    },
  )

  test('serves its resources and templates', async () => {
    expect(await ask('resources/read', { uri: 'notes://latest' })).toMatchObject({
      contents: [{ uri: 'notes://latest', text: 'the latest' }],
    })
    expect(await ask('resources/read', { uri: 'notes://by-id/7' })).toMatchObject({
      contents: [{ uri: 'notes://by-id/7', text: 'note 7' }],
    })
  })

  test('does not serve a tool that is disabled', async () => {
    expect(await ask('tools/list', {})).toMatchObject({ tools: [] })
  })
})
