import { createHash } from 'node:crypto'
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
import { anUpstreamRequest, callWithin, inShort } from '../support/an-upstream-call.ts'
import { eventually } from '../support/eventually.ts'
import { serveHere } from '../support/serve-here.ts'
import { tokenOf } from '../support/tokens.ts'

function open(options: McpUpstreamOptions) {
  const upstream = new McpUpstream(options)
  onTestFinished(() => upstream.close())
  return upstream
}

const blocks = [
  { type: 'text', text: 'hello' },
  { type: 'image', data: 'aGk=', mimeType: 'image/png' },
  { type: 'resource_link', uri: 'file:///a', name: 'a' },
] as const

interface Seen {
  readonly stopped: string[]
  readonly begun: string[]
}

interface Agent {
  readonly url: string
  readonly seen: Seen
}

const untilAborted = (signal: AbortSignal, seen: Seen) =>
  new Promise<never>((_, reject) => {
    seen.begun.push('wait')
    signal.addEventListener('abort', () => {
      seen.stopped.push('wait')
      reject(new Error('stopped'))
    })
  })

const tool = { category: 'read', description: 'A test.' } as const

const agents: Readonly<Record<string, () => Promise<Agent>>> = {
  'of 2026': async () => {
    const seen: Seen = { stopped: [], begun: [] }
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
        execute: () => content(blocks, { n: 1 }),
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
        execute: (_, { signal }) => untilAborted(signal, seen),
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
    return { url, seen }
  },
  'of 2025': async () => {
    const seen: Seen = { stopped: [], begun: [] }
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
        content: [...blocks],
        structuredContent: { n: 1 },
      }))
      server.registerTool('fail', {}, async () => ({
        isError: true,
        content: [{ type: 'text', text: 'It rained.' }],
      }))
      server.registerTool('wait', {}, async ({ signal }) => untilAborted(signal, seen))
      server.registerTool('count', {}, async ({ _meta, sendNotification }) => {
        const progressToken = _meta?.progressToken ?? ''
        const tell = (params: object) =>
          sendNotification({
            method: 'notifications/progress',
            params: { progressToken, ...params },
          } as never)
        await tell({ progress: 1, total: 2, message: 'half' })
        await tell({ progress: 2, total: 2 })
        return { content: [], structuredContent: { counted: 2 } }
      })
    })
    return { url, seen }
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

  test('has its blocks passed on whole', async () => {
    const { url } = await anAgent()

    const { outcome } = await open({ endpoint: url }).call(
      anUpstreamRequest({ capability: 'show', input: {} }),
    )

    expect(outcome).toEqual({ kind: 'done', data: { n: 1 }, content: blocks })
  })

  test('fails in its own words', async () => {
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

  test('that does not know the tool says so', async () => {
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

  test('is heard while it works', async () => {
    const { url } = await anAgent()
    const heard: unknown[] = []

    const { outcome } = await open({ endpoint: url }).call(
      anUpstreamRequest({
        capability: 'count',
        input: {},
        listener: { progress: (progress) => heard.push(progress), log: () => {} },
      }),
    )

    expect(outcome).toMatchObject({ kind: 'done', data: { counted: 2 } })
    expect(heard).toEqual([
      { done: 1, total: 2, message: 'half' },
      { done: 2, total: 2 },
    ])
  })

  test('hears that a call was cancelled, and answers the next', async () => {
    const { url, seen } = await anAgent()
    const upstream = open({ endpoint: url })
    const cancellation = new Cancellation()
    const waiting = upstream.call(
      anUpstreamRequest({ capability: 'wait', input: {}, cancellation }),
    )
    await eventually(() => expect(seen.begun).toEqual(['wait']))

    cancellation.cancel('The client left.')

    expect(inShort(await waiting)).toEqual(['upstream_stopped', 'maybe'])
    await eventually(() => expect(seen.stopped).toEqual(['wait']))
    const next = await upstream.call(
      anUpstreamRequest({ capability: 'add', input: { a: 1, b: 1 } }),
    )
    expect(next.outcome).toMatchObject({ data: { sum: 2 } })
  })

  test('serves calls at the same time on one connection', async () => {
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
  const echo = async () =>
    anAgentOf2025((server) => {
      server.registerTool('look-up', {}, async () => ({ content: [{ type: 'text', text: 'ok' }] }))
    })

  test('is opened by the first call, shared by all, and asks for nothing unasked', async () => {
    const { url, received } = await echo()
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

  test('begins anew within the call when the agent forgot the session', async () => {
    const { url, forgetSessions, received } = await echo()
    const upstream = open({ endpoint: url })
    await upstream.call(anUpstreamRequest())

    forgetSessions()
    const answer = await upstream.call(anUpstreamRequest())

    expect(inShort(answer)).toEqual(['done', 'yes'])
    expect(received.filter(({ what }) => what === 'POST initialize')).toHaveLength(2)
  })

  test('is made again by the next call after the agent was away', async () => {
    const { port, close } = await aServerOnAPort(0)
    const upstream = open({ endpoint: `http://127.0.0.1:${port}/mcp` })
    expect(inShort(await upstream.call(anUpstreamRequest()))).toEqual(['done', 'yes'])

    await close()
    // Until we hear that our connection was closed, a call on it may or may not have arrived.
    await eventually(async () =>
      expect(inShort(await upstream.call(anUpstreamRequest()))).toEqual([
        'upstream_unavailable',
        'no',
      ]),
    )
    const back = await aServerOnAPort(port)

    expect(inShort(await upstream.call(anUpstreamRequest()))).toEqual(['done', 'yes'])
    await back.close()
  })

  test('is proven with our credential, looked up anew after a refusal', async () => {
    const tokens = ['wrong', tokenOf('ann')]
    const { url } = await serveHere(guarded)
    const upstream = open({
      endpoint: url,
      credential: async () => ({ header: 'authorization', value: `Bearer ${tokens.shift()}` }),
    })
    const call = () => upstream.call(anUpstreamRequest({ capability: 'who', input: {} }))

    expect(inShort(await call())).toEqual(['upstream_credentials', 'no'])
    expect((await call()).outcome).toMatchObject({ kind: 'done', data: { subject: 'ann' } })
    expect((await call()).outcome).toMatchObject({ kind: 'done', data: { subject: 'ann' } })
    expect(tokens).toEqual([])
  })

  test('that cannot be made fails for all who wait, and is tried anew', async () => {
    const { url, requests } = await aRawServer(() => {})
    const upstream = open({ endpoint: url, limits: { connect: 200 } })

    const waiting = await Promise.all([1, 2].map(() => callWithin(60_000, upstream)))

    for (const answer of waiting) {
      expect(inShort(answer)).toEqual(['upstream_unavailable', 'no'])
      expect(answer.took).toBeLessThan(atMost(1500))
    }
    expect(requests).toHaveLength(1)
    await upstream.call(anUpstreamRequest())
    expect(requests).toHaveLength(2)
  })

  test('holds nobody longer than the call', async () => {
    const { url } = await aRawServer(() => {})

    const answer = await callWithin(100, open({ endpoint: url }))

    expect(inShort(answer)).toEqual(['upstream_stopped', 'no'])
    expect(answer.took).toBeLessThan(atMost(1000))
  })

  test('is not made after the end', async () => {
    const { url, received } = await echo()
    const upstream = open({ endpoint: url })
    await upstream.close()

    expect(inShort(await upstream.call(anUpstreamRequest()))).toEqual([
      'upstream_unavailable',
      'no',
    ])
    expect(received).toEqual([])
  })
})

test('the key and the trace travel in the metadata, and nothing else of ours comes back', async () => {
  const bodies: string[] = []
  const { url } = await aRawServer((socket, request) => {
    bodies.push(request.body)
    const { id, method } = JSON.parse(request.body)
    const result =
      method === 'server/discover'
        ? discovered
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

test('an agent that wants to ask something is not understood wrongly', async () => {
  const { url } = await aRawServer((socket, request) => {
    const { id, method } = JSON.parse(request.body)
    const asking = {
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
    const result = method === 'server/discover' ? discovered : asking
    reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, result }))
  })

  const answer = await open({ endpoint: url }).call(anUpstreamRequest())

  expect(inShort(answer)).toEqual(['upstream_asks', 'yes'])
})

test('a Drawbridge that would ask tells us that we cannot be asked', async () => {
  const asking = defineTool({
    ...tool,
    name: 'ask',
    schema: z.object({}),
    execute: () =>
      ask({ name: { kind: 'form', message: 'Who?', schema: { type: 'object', properties: {} } } }),
  })
  const { url } = await serveHere({ sources: [definitionSource([asking])] })

  const answer = await open({ endpoint: url }).call(
    anUpstreamRequest({ capability: 'ask', input: {} }),
  )

  expect(inShort(answer)).toEqual(['upstream_asks', 'yes'])
})

test('parameters that must be repeated in headers are, once the agent insists', async () => {
  const regional = defineTool({
    ...tool,
    name: 'regional',
    schema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    outputSchema: z.object({ region: z.string() }),
    execute: (input) => ({ region: input.region }),
  })
  const { url } = await serveHere({ sources: [definitionSource([regional])] })

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
])('the error %i is %s', async (code, expected, reached) => {
  const { url } = await aRawServer((socket, request) => {
    const { id, method } = JSON.parse(request.body)
    const body =
      method === 'server/discover' ? { result: discovered } : { error: { code, message: 'No.' } }
    reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, ...body }))
  })

  const answer = await open({ endpoint: url }).call(anUpstreamRequest())

  expect(inShort(answer)).toEqual([expected, reached])
})

test.each([['stdio:node server.js'], ['file:///etc/passwd']])(
  '%s is no endpoint: a manifest starts nothing',
  async (endpoint) => {
    const answer = await open({ endpoint }).call(anUpstreamRequest())

    expect(inShort(answer)).toEqual(['upstream_endpoint', 'no'])
  },
)

test('arguments that are no object are not sent', async () => {
  const answer = await open({ endpoint: 'http://127.0.0.1:1' }).call(
    anUpstreamRequest({ input: [1] }),
  )

  expect(inShort(answer)).toEqual(['upstream_refused', 'no'])
})

const discovered = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}

const digest = createHash('sha256').update(tokenOf('ann')).digest('hex')

const guarded: DrawbridgeOptions = {
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

async function aServerOnAPort(wanted: number) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString())
    const result =
      method === 'server/discover' ? discovered : { resultType: 'complete', content: [] }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { port, close }
}
