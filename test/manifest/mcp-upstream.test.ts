import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { McpUpstream, type McpUpstreamOptions } from '../../src/mcp/upstream/mcp-upstream.ts'
import type { DrawbridgeOptions } from '../../src/runtime/drawbridge-options.ts'
import { definitionSource } from '../../src/sources/definitions/definition-source.ts'
import { ask, content } from '../../src/sources/definitions/reply.ts'
import { defineTool } from '../../src/sources/definitions/tool-definition.ts'
import { anAgentOf2025 } from '../support/a-2025-agent.ts'
import { aRawServer, reply } from '../support/a-raw-server.ts'
import { atMost } from '../support/amount.ts'
import { anUpstreamRequest, callWithin, summarize } from '../support/an-upstream-call.ts'
import { eventually } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'
import { tokenOf } from '../support/tokens.ts'

function open(options: McpUpstreamOptions) {
  const upstream = new McpUpstream(options)
  onTestFinished(() => upstream.close())
  return upstream
}

const contentBlocks = [
  { type: 'text', text: 'hello' },
  { type: 'image', data: 'aGk=', mimeType: 'image/png' },
  { type: 'resource_link', uri: 'file:///a', name: 'a' },
] as const

interface Observations {
  readonly abortedTools: string[]
  readonly startedTools: string[]
}

interface Agent {
  readonly url: string
  readonly observations: Observations
}

const waitForAbort = (signal: AbortSignal, observations: Observations) =>
  new Promise<never>((_, reject) => {
    observations.startedTools.push('wait')
    signal.addEventListener('abort', () => {
      observations.abortedTools.push('wait')
      reject(new Error('stopped'))
    })
  })

const tool = { category: 'read', description: 'A test.' } as const

const agents: Readonly<Record<string, () => Promise<Agent>>> = {
  'of 2026': async () => {
    const observations: Observations = { abortedTools: [], startedTools: [] }
    const tools = [
      defineTool({
        ...tool,
        name: 'add',
        schema: z.object({ a: z.number(), b: z.number() }),
        execute: ({ a, b }) => ({ sum: a + b }),
      }),
      defineTool({
        ...tool,
        name: 'show',
        schema: z.object({}),
        execute: () => content(contentBlocks, { n: 1 }),
      }),
      defineTool({
        ...tool,
        name: 'fail',
        schema: z.object({}),
        execute: () => ({ tool: 'fail', fetchedAt: '', error: 'It rained.' }),
      }),
      defineTool({
        ...tool,
        name: 'wait',
        schema: z.object({}),
        execute: (_, { signal }) => waitForAbort(signal, observations),
      }),
      defineTool({
        ...tool,
        name: 'count',
        schema: z.object({}),
        execute: (_, { progress }) => {
          progress(1, 2, 'half')
          progress(2, 2)
          return { counted: 2 }
        },
      }),
    ]
    const { url } = await serveHere({ sources: [definitionSource(tools)] })
    return { url, observations }
  },
  'of 2025': async () => {
    const observations: Observations = { abortedTools: [], startedTools: [] }
    const { url } = await anAgentOf2025((server) => {
      const input = { a: z.number(), b: z.number() }
      server.registerTool('add', { inputSchema: input as never }, (async ({
        a,
        b,
      }: {
        a: number
        b: number
      }) => ({
        content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
        structuredContent: { sum: a + b },
      })) as never)
      server.registerTool('show', {}, async () => ({
        content: [...contentBlocks],
        structuredContent: { n: 1 },
      }))
      server.registerTool('fail', {}, async () => ({
        isError: true,
        content: [{ type: 'text', text: 'It rained.' }],
      }))
      server.registerTool('wait', {}, async ({ signal }) => waitForAbort(signal, observations))
      server.registerTool('count', {}, async ({ _meta, sendNotification }) => {
        const progressToken = _meta?.progressToken ?? ''
        const sendProgress = (params: object) =>
          sendNotification({
            method: 'notifications/progress',
            params: { progressToken, ...params },
          } as never)
        await sendProgress({ progress: 1, total: 2, message: 'half' })
        await sendProgress({ progress: 2, total: 2 })
        return { content: [], structuredContent: { counted: 2 } }
      })
    })
    return { url, observations }
  },
}

describe.each(Object.entries(agents))('an agent %s', (_, anAgent) => {
  test('answers with data', async () => {
    const { url } = await anAgent()

    const answer = await open({ endpoint: url }).call(
      anUpstreamRequest({ capability: 'add', input: { a: 1, b: 2 } }),
    )

    expect(answer).toEqual({
      outcome: { kind: 'done', data: { sum: 3 }, content: [{ type: 'text', text: '{"sum":3}' }] },
      reached: 'yes',
    })
  })

  test('has its content blocks passed through unchanged', async () => {
    const { url } = await anAgent()

    const { outcome } = await open({ endpoint: url }).call(
      anUpstreamRequest({ capability: 'show', input: {} }),
    )

    expect(outcome).toEqual({ kind: 'done', data: { n: 1 }, content: contentBlocks })
  })

  test('has its tool error message passed through', async () => {
    const { url } = await anAgent()

    const { outcome, reached } = await open({ endpoint: url }).call(
      anUpstreamRequest({ capability: 'fail', input: {} }),
    )

    expect(outcome).toMatchObject({
      failure: { code: 'upstream_tool_error', message: expect.stringContaining('It rained.') },
      content: [{ type: 'text', text: expect.stringContaining('It rained.') }],
    })
    expect(reached).toBe('yes')
  })

  test('without the tool gives a failure that names the tool', async () => {
    const { url } = await anAgent()

    const { outcome, reached } = await open({ endpoint: url }).call(
      anUpstreamRequest({ capability: 'nowhere' }),
    )

    expect(outcome).toMatchObject({
      kind: 'failed',
      failure: { fixedBy: 'model', message: expect.stringContaining('nowhere') },
    })
    expect(reached).toBe('yes')
  })

  test('has its progress notifications forwarded', async () => {
    const { url } = await anAgent()
    const progressEvents: unknown[] = []

    const { outcome } = await open({ endpoint: url }).call(
      anUpstreamRequest({
        capability: 'count',
        input: {},
        listener: { progress: (progress) => progressEvents.push(progress), log: () => {} },
      }),
    )

    expect(outcome).toMatchObject({ kind: 'done', data: { counted: 2 } })
    expect(progressEvents).toEqual([
      { done: 1, total: 2, message: 'half' },
      { done: 2, total: 2 },
    ])
  })

  test('is told of a cancellation and answers the next call', async () => {
    const { url, observations } = await anAgent()
    const upstream = open({ endpoint: url })
    const cancellation = new Cancellation()
    const pendingCall = upstream.call(
      anUpstreamRequest({ capability: 'wait', input: {}, cancellation }),
    )
    await eventually(() => expect(observations.startedTools).toEqual(['wait']))

    cancellation.cancel('The client left.')

    expect(summarize(await pendingCall)).toEqual(['upstream_stopped', 'maybe'])
    await eventually(() => expect(observations.abortedTools).toEqual(['wait']))
    const next = await upstream.call(
      anUpstreamRequest({ capability: 'add', input: { a: 1, b: 1 } }),
    )
    expect(next.outcome).toMatchObject({ data: { sum: 2 } })
  })

  test('serves concurrent calls on one connection', async () => {
    const { url } = await anAgent()
    const upstream = open({ endpoint: url })

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, a) =>
        upstream.call(anUpstreamRequest({ capability: 'add', input: { a, b: 1 } })),
      ),
    )

    expect(answers.map(({ outcome }) => outcome.kind === 'done' && outcome.data)).toEqual(
      Array.from({ length: 20 }, (_, a) => ({ sum: a + 1 })),
    )
  })
})

describe('the connection', () => {
  const anEchoAgent = async () =>
    anAgentOf2025((server) => {
      server.registerTool('look-up', {}, async () => ({ content: [{ type: 'text', text: 'ok' }] }))
    })

  test('is opened by the first call, shared by all calls, and sends no other requests', async () => {
    const { url, received } = await anEchoAgent()
    const upstream = open({ endpoint: url })
    expect(received).toEqual([])

    await Promise.all([1, 2, 3].map(() => upstream.call(anUpstreamRequest())))
    await upstream.close()

    expect(received.map(({ what }) => what)).toEqual([
      'POST server/discover',
      'POST initialize',
      'POST notifications/initialized',
      'POST tools/call',
      'POST tools/call',
      'POST tools/call',
      'DELETE',
    ])
  })

  test('is re-initialized within the call when the agent lost the session', async () => {
    const { url, forgetSessions, received } = await anEchoAgent()
    const upstream = open({ endpoint: url })
    await upstream.call(anUpstreamRequest())

    forgetSessions()
    const answer = await upstream.call(anUpstreamRequest())

    expect(summarize(answer)).toEqual(['done', 'yes'])
    expect(received.filter(({ what }) => what === 'POST initialize')).toHaveLength(2)
  })

  test('is re-established by the next call after the agent restarts', async () => {
    const { port, close } = await aServerOnPort(0)
    const upstream = open({ endpoint: `http://127.0.0.1:${port}/mcp` })
    expect(summarize(await upstream.call(anUpstreamRequest()))).toEqual(['done', 'yes'])

    await close()
    // The outcome is "maybe" while the pooled connection is not yet known to be closed.
    await eventually(async () =>
      expect(summarize(await upstream.call(anUpstreamRequest()))).toEqual([
        'upstream_unavailable',
        'no',
      ]),
    )
    // Another process may use the port for an outgoing connection for a moment.
    const restartedServer = await eventually(() => aServerOnPort(port))
    onTestFinished(restartedServer.close)

    expect(summarize(await upstream.call(anUpstreamRequest()))).toEqual(['done', 'yes'])
  })

  test('is authenticated with our credential, resolved again after a 401', async () => {
    const tokens = ['wrong', tokenOf('ann')]
    const { url } = await serveHere(guardedServer)
    const upstream = open({
      endpoint: url,
      credential: async () => ({ header: 'authorization', value: `Bearer ${tokens.shift()}` }),
    })
    const call = () => upstream.call(anUpstreamRequest({ capability: 'who', input: {} }))

    expect(summarize(await call())).toEqual(['upstream_credentials', 'no'])
    expect((await call()).outcome).toMatchObject({ kind: 'done', data: { subject: 'ann' } })
    expect((await call()).outcome).toMatchObject({ kind: 'done', data: { subject: 'ann' } })
    expect(tokens).toEqual([])
  })

  test('that times out fails all waiting calls, and the next call tries again', async () => {
    const { url } = await aRawServer(() => {})
    // Counts attempts by credential: on a busy machine one may time out before its request arrives.
    let attempts = 0
    const upstream = open({
      endpoint: url,
      limits: { connect: 200 },
      credential: async () => ({ header: 'x-attempt', value: String(++attempts) }),
    })

    const answers = await Promise.all([1, 2].map(() => callWithin(60_000, upstream)))

    for (const answer of answers) {
      expect(summarize(answer)).toEqual(['upstream_unavailable', 'no'])
      expect(answer.took).toBeLessThan(atMost(1500))
    }
    expect(attempts).toBe(1)
    await upstream.call(anUpstreamRequest())
    expect(attempts).toBe(2)
  })

  test('attempt does not outlast the call deadline', async () => {
    const { url } = await aRawServer(() => {})

    const answer = await callWithin(100, open({ endpoint: url }))

    expect(summarize(answer)).toEqual(['upstream_stopped', 'no'])
    expect(answer.took).toBeLessThan(atMost(1000))
  })

  test('is not opened after close()', async () => {
    const { url, received } = await anEchoAgent()
    const upstream = open({ endpoint: url })
    await upstream.close()

    expect(summarize(await upstream.call(anUpstreamRequest()))).toEqual([
      'upstream_unavailable',
      'no',
    ])
    expect(received).toEqual([])
  })
})

test('idempotency key and traceparent are sent in _meta, and our _meta keys in the answer are dropped', async () => {
  const bodies: string[] = []
  const { url } = await aRawServer((socket, request) => {
    bodies.push(request.body)
    const { id, method } = JSON.parse(request.body)
    const result =
      method === 'server/discover'
        ? discoverResult
        : { resultType: 'complete', content: [], _meta: { 'dev.drawbridge/call-id': 'theirs' } }
    reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

  const answer = await open({ endpoint: url }).call(
    anUpstreamRequest({ idempotencyKey: 'schlüssel', traceparent }),
  )

  expect(answer).toEqual({ outcome: { kind: 'done', content: [] }, reached: 'yes' })
  expect(JSON.parse(bodies[1] ?? '')).toMatchObject({
    method: 'tools/call',
    params: {
      name: 'look-up',
      arguments: { id: 1 },
      _meta: { 'dev.drawbridge/idempotency-key': 'schlüssel', traceparent },
    },
  })
})

test('an input_required result fails with upstream_asks', async () => {
  const { url } = await aRawServer((socket, request) => {
    const { id, method } = JSON.parse(request.body)
    const inputRequired = {
      resultType: 'input_required',
      inputRequests: {
        a: {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: 'Sure?',
            requestedSchema: { type: 'object', properties: {} },
          },
        },
      },
      requestState: 'x',
    }
    const result = method === 'server/discover' ? discoverResult : inputRequired
    reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, result }))
  })

  const answer = await open({ endpoint: url }).call(anUpstreamRequest())

  expect(summarize(answer)).toEqual(['upstream_asks', 'yes'])
})

test('a Drawbridge agent whose tool asks the client fails with upstream_asks', async () => {
  const askingTool = defineTool({
    ...tool,
    name: 'ask',
    schema: z.object({}),
    execute: () =>
      ask({ name: { kind: 'form', message: 'Who?', schema: { type: 'object', properties: {} } } }),
  })
  const { url } = await serveHere({ sources: [definitionSource([askingTool])] })

  const answer = await open({ endpoint: url }).call(
    anUpstreamRequest({ capability: 'ask', input: {} }),
  )

  expect(summarize(answer)).toEqual(['upstream_asks', 'yes'])
})

test('parameters with x-mcp-header are sent as headers when the agent requires them', async () => {
  const regionalTool = defineTool({
    ...tool,
    name: 'regional',
    schema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    outputSchema: z.object({ region: z.string() }),
    execute: (input) => ({ region: input.region }),
  })
  const { url } = await serveHere({ sources: [definitionSource([regionalTool])] })

  const answer = await open({ endpoint: url }).call(
    anUpstreamRequest({ capability: 'regional', input: { region: 'eu' } }),
  )

  expect(answer.outcome).toMatchObject({ kind: 'done', data: { region: 'eu' } })
})

test.each([
  [-32602, 'upstream_refused', 'yes'],
  [-31403, 'upstream_refused', 'yes'],
  [-32042, 'upstream_asks', 'yes'],
  [-32601, 'upstream_invalid', 'yes'],
  [-32603, 'upstream_unavailable', 'maybe'],
  [-32000, 'upstream_unavailable', 'maybe'],
])('JSON-RPC error %i becomes %s', async (code, expected, reached) => {
  const { url } = await aRawServer((socket, request) => {
    const { id, method } = JSON.parse(request.body)
    const body =
      method === 'server/discover'
        ? { result: discoverResult }
        : { error: { code, message: 'No.' } }
    reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })

  const answer = await open({ endpoint: url }).call(anUpstreamRequest())

  expect(summarize(answer)).toEqual([expected, reached])
})

test.each([['stdio:node server.js'], ['file:///etc/passwd']])(
  'the endpoint %s is refused: a manifest must not start processes or read files',
  async (endpoint) => {
    const answer = await open({ endpoint }).call(anUpstreamRequest())

    expect(summarize(answer)).toEqual(['upstream_endpoint', 'no'])
  },
)

test('arguments that are not an object are refused', async () => {
  const answer = await open({ endpoint: 'http://127.0.0.1:1' }).call(
    anUpstreamRequest({ input: [1] }),
  )

  expect(summarize(answer)).toEqual(['upstream_refused', 'no'])
})

const discoverResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}

const digest = createHash('sha256').update(tokenOf('ann')).digest('hex')

const guardedServer: DrawbridgeOptions = {
  sources: [
    definitionSource([
      defineTool({
        ...tool,
        name: 'who',
        schema: z.object({}),
        execute: (_, { caller }) => ({ subject: caller.subject }),
      }),
    ]),
  ],
  http: { tokens: [{ hash: `sha256:${digest}`, subject: 'ann', scopes: [] }] },
}

async function aServerOnPort(requestedPort: number) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString())
    const result =
      method === 'server/discover' ? discoverResult : { resultType: 'complete', content: [] }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  server.listen(requestedPort, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { port, close }
}
