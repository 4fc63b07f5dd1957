import type { Socket } from 'node:net'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Cancellation } from '../../src/capability/cancellation.ts'
import { dropUndefined } from '../../src/json/drop-undefined.ts'
import { McpUpstream } from '../../src/mcp/upstream/mcp-upstream.ts'
import { httpUpstream } from '../../src/sources/manifest/invoke/http-upstream.ts'
import type { Reached, Upstream } from '../../src/upstream/upstream.ts'
import { aRawServer, type ReceivedRequest, reply } from '../support/a-raw-server.ts'
import { amount, atMost } from '../support/amount.ts'
import { anUpstreamRequest, callWithin, summarize } from '../support/an-upstream-call.ts'
import { startScript } from '../support/child-script.ts'
import { aWhile } from '../support/eventually.ts'
import { Latch } from '../support/latch.ts'
import { repository } from '../support/spawn-server.ts'

/** Far longer than any answer takes. */
const deadlineMs = atMost(3000)
/** The time in which a hanging agent could still answer. */
const hangMs = 100
/** Small, because the flooding server runs in the same process. */
const limits = { answer: 32 * 1024 }

type Misbehave = (socket: Socket) => void
type Expected = readonly [code: string, reached: Reached]

const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const events = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n'
const chunkedHeader = 'transfer-encoding: chunked\r\n\r\n'
const toChunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** Writes the piece `times` times, respecting backpressure, until the peer disconnects. */
function flood(socket: Socket, piece: string, times = Number.POSITIVE_INFINITY): void {
  let remaining = times
  const writeMore = () => {
    while (remaining-- > 0 && !socket.destroyed) if (!socket.write(piece)) return
    if (!socket.destroyed && remaining <= 0) socket.end()
  }
  socket.on('drain', writeMore)
  writeMore()
}

const megabyte = 'x'.repeat(1024 * 1024)
const event = `data: ${JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'still here' },
})}\n\n`

/** Faults of an agent, with the expected failure over HTTP and over MCP. */
const faults: Readonly<
  Record<string, { readonly do: Misbehave; readonly http: Expected; readonly mcp: Expected }>
> = {
  'hangs before its headers': {
    do: () => {},
    http: ['upstream_stopped', 'maybe'],
    mcp: ['upstream_stopped', 'maybe'],
  },
  'hangs in its headers': {
    do: (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-ty'),
    http: ['upstream_stopped', 'maybe'],
    mcp: ['upstream_stopped', 'maybe'],
  },
  'hangs after its headers': {
    do: (socket) => socket.write(`${json}content-length: 100\r\n\r\n{`),
    http: ['upstream_stopped', 'maybe'],
    mcp: ['upstream_stopped', 'maybe'],
  },
  'resets the connection': {
    do: (socket) => socket.resetAndDestroy(),
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'closes without a response': {
    do: (socket) => socket.end(),
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'resets in the middle of its response': {
    do: (socket) => {
      socket.write(`${json}content-length: 100\r\n\r\n{"a"`)
      setTimeout(() => socket.resetAndDestroy(), 20)
    },
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'truncates its chunked response': {
    do: (socket) => socket.end(`${json}${chunkedHeader}${toChunk('{"a":1}')}`),
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'does not speak HTTP': {
    do: (socket) => socket.end('\u0000\u0001 what is this\r\n\r\n'),
    http: ['upstream_invalid', 'maybe'],
    mcp: ['upstream_invalid', 'maybe'],
  },
  'sends an invalid chunk size': {
    do: (socket) => socket.write(`${json}${chunkedHeader}zz\r\n{}\r\n`),
    http: ['upstream_invalid', 'maybe'],
    mcp: ['upstream_invalid', 'maybe'],
  },
  'answers with garbage': {
    do: (socket) => reply(socket, 200, '}{'),
    http: ['upstream_invalid', 'maybe'],
    mcp: ['upstream_invalid', 'maybe'],
  },
  'answers with another content type': {
    do: (socket) => reply(socket, 200, 'GIF89a', { 'content-type': 'image/gif' }),
    http: ['upstream_invalid', 'maybe'],
    mcp: ['upstream_invalid', 'maybe'],
  },
  'switches to another protocol': {
    do: (socket) =>
      socket.write('HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'),
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'sends a gigabyte': {
    do: (socket) => {
      socket.write(`${json}content-length: ${1024 ** 3}\r\n\r\n"`)
      flood(socket, megabyte, 1024)
    },
    http: ['upstream_too_large', 'maybe'],
    mcp: ['upstream_too_large', 'maybe'],
  },
  'sends chunks without end': {
    do: (socket) => {
      socket.write(`${json}${chunkedHeader}`)
      flood(socket, toChunk(megabyte))
    },
    http: ['upstream_too_large', 'maybe'],
    mcp: ['upstream_too_large', 'maybe'],
  },
  'sends events without end': {
    do: (socket) => {
      socket.write(`${events}${chunkedHeader}`)
      flood(socket, toChunk(event))
    },
    http: ['upstream_too_large', 'maybe'],
    mcp: ['upstream_too_large', 'maybe'],
  },
  'sends one event without end': {
    do: (socket) => {
      socket.write(`${events}${chunkedHeader}${toChunk('data: ')}`)
      flood(socket, toChunk(megabyte))
    },
    http: ['upstream_too_large', 'maybe'],
    mcp: ['upstream_too_large', 'maybe'],
  },
  'drips single bytes': {
    do: (socket) => {
      socket.write(`${json}${chunkedHeader}`)
      const timer = setInterval(() => socket.write(toChunk(' ')), 10)
      socket.on('close', () => clearInterval(timer))
    },
    http: ['upstream_stopped', 'maybe'],
    mcp: ['upstream_stopped', 'maybe'],
  },
  'sends a redirect': {
    do: (socket) => reply(socket, 307, '', { location: 'http://localhost:1/' }),
    http: ['upstream_redirected', 'yes'],
    mcp: ['upstream_redirected', 'yes'],
  },
  'sends huge headers': {
    do: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      flood(socket, `x-filler: ${'x'.repeat(8000)}\r\n`)
    },
    http: ['upstream_invalid', 'maybe'],
    mcp: ['upstream_invalid', 'maybe'],
  },
  'answers with 502': {
    do: (socket) => reply(socket, 502, 'Bad gateway', { 'content-type': 'text/plain' }),
    http: ['upstream_unavailable', 'maybe'],
    mcp: ['upstream_unavailable', 'maybe'],
  },
}

/** Faults that apply only to MCP, which expects events. */
const eventFaults: Readonly<Record<string, { readonly do: Misbehave; readonly mcp: Expected }>> = {
  'ends its event stream without an answer': {
    do: (socket) => socket.write(`${events}${chunkedHeader}${toChunk(event)}0\r\n\r\n`),
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'resets in the middle of its event stream': {
    do: (socket) => {
      socket.write(`${events}${chunkedHeader}${toChunk(event)}`)
      setTimeout(() => socket.resetAndDestroy(), 20)
    },
    mcp: ['upstream_unavailable', 'maybe'],
  },
  'sends garbage events and hangs': {
    do: (socket) => socket.write(`${events}${chunkedHeader}${toChunk('data: }{\n\n')}`),
    mcp: ['upstream_stopped', 'maybe'],
  },
  'answers with another request id': {
    do: (socket) => reply(socket, 200, '{"jsonrpc":"2.0","id":"other","result":{}}'),
    mcp: ['upstream_invalid', 'maybe'],
  },
  'answers 202 without a body': {
    do: (socket) => reply(socket, 202, '', {}),
    mcp: ['upstream_invalid', 'maybe'],
  },
}

const discoverResult = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}

const initializeResult = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'old', version: '1' },
}

/** Answers the handshake requests of each protocol era correctly; returns false for other requests. */
const handshakes = {
  '2026': (socket: Socket, { id, method }: Rpc) =>
    method === 'server/discover' && sendResult(socket, id, discoverResult),
  '2025': (socket: Socket, { id, method }: Rpc) => {
    if (method === 'server/discover') return reply(socket, 404) === undefined
    if (method === 'initialize') return sendResult(socket, id, initializeResult)
    return method?.startsWith('notifications/') && reply(socket, 202) === undefined
  },
} as const

interface Rpc {
  readonly id?: number
  readonly method?: string
}

function sendResult(socket: Socket, id: unknown, result: object): true {
  reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id, result }))
  return true
}

const toRpc = ({ body }: ReceivedRequest): Rpc => (body === '' ? {} : JSON.parse(body))

/**
 * Calls a faulty agent. A call that must hang is cancelled after the agent has received the request:
 * before that, its result would depend on the speed of the machine.
 */
async function callFaulty(upstream: Upstream, [code]: Expected, requestReceived: Promise<void>) {
  if (code !== 'upstream_stopped') return callWithin(deadlineMs, upstream)
  const cancellation = new Cancellation()
  const answer = upstream.call(anUpstreamRequest({ cancellation }))
  await Promise.race([requestReceived, answer])
  await aWhile(hangMs)
  const startMs = performance.now()
  cancellation.cancel('The time limit is over.')
  return { ...(await answer), took: performance.now() - startMs }
}

function closeAfterTest<T extends Upstream>(upstream: T): T {
  onTestFinished(() => upstream.close())
  return upstream
}

describe('over HTTP, an agent that', () => {
  test.each(Object.entries(faults))('%s causes a typed failure in time', async (_, fault) => {
    const requestReceived = new Latch()
    let calls = 0
    const { url } = await aRawServer((socket) => {
      if (calls++ > 0) return reply(socket, 200, '{"well":true}')
      fault.do(socket)
      requestReceived.open()
    })
    const upstream = closeAfterTest(httpUpstream({ endpoint: url, limits }))

    const answer = await callFaulty(upstream, fault.http, requestReceived.opened)
    const nextAnswer = await callWithin(deadlineMs, upstream)

    expect(summarize(answer)).toEqual(fault.http)
    expect(answer.took).toBeLessThan(atMost(2000))
    expect(nextAnswer.outcome).toEqual({ kind: 'done', data: { well: true } })
  })
})

describe.each(Object.entries(handshakes))('over MCP of %s, an agent that', (era, handshake) => {
  test.each(Object.entries({ ...faults, ...eventFaults }))(
    '%s causes a typed failure in time',
    async (_, fault) => {
      const requestReceived = new Latch()
      let calls = 0
      const { url } = await aRawServer((socket, request) => {
        const rpc = toRpc(request)
        if (handshake(socket, rpc)) return
        if (rpc.method !== 'tools/call') return reply(socket, 405)
        if (calls++ === 1) {
          fault.do(socket)
          return requestReceived.open()
        }
        sendResult(socket, rpc.id, {
          ...dropUndefined({ resultType: era === '2026' ? 'complete' : undefined }),
          content: [],
          structuredContent: { well: true },
        })
      })
      const upstream = closeAfterTest(new McpUpstream({ endpoint: url, limits }))

      await callWithin(deadlineMs, upstream)
      const answer = await callFaulty(upstream, fault.mcp, requestReceived.opened)
      const nextAnswer = await callWithin(deadlineMs, upstream)

      expect(summarize(answer)).toEqual(fault.mcp)
      expect(answer.took).toBeLessThan(atMost(2000))
      expect(nextAnswer.outcome).toMatchObject({ kind: 'done', data: { well: true } })
    },
  )
})

describe('over MCP, an agent that during the handshake', () => {
  test.each(Object.entries({ ...faults, ...eventFaults }))(
    '%s counts as not reached',
    async (_, fault) => {
      const requestReceived = new Latch()
      const { url } = await aRawServer((socket) => {
        fault.do(socket)
        requestReceived.open()
      })
      const upstream = closeAfterTest(new McpUpstream({ endpoint: url, limits }))

      const answer = await callFaulty(upstream, fault.mcp, requestReceived.opened)

      expect(answer.outcome.kind).toBe('failed')
      expect(answer.reached).toBe('no')
      expect(answer.took).toBeLessThan(atMost(2000))
    },
  )
})

const upstreamKinds: Readonly<Record<string, (endpoint: string) => Upstream>> = {
  HTTP: (endpoint) => httpUpstream({ endpoint }),
  MCP: (endpoint) => new McpUpstream({ endpoint }),
}

describe.each(Object.entries(upstreamKinds))('over %s', (_, openUpstream) => {
  test.each([
    ['connection refused', 'http://127.0.0.1:1'],
    ['unknown host name', 'http://no-such-host.invalid'],
  ])('%s: unavailable, not reached and retryable', async (_, endpoint) => {
    const answer = await callWithin(deadlineMs, closeAfterTest(openUpstream(endpoint)))

    expect(summarize(answer)).toEqual(['upstream_unavailable', 'no'])
    expect(answer.outcome).toMatchObject({ failure: { retryable: true } })
  })
})

describe('resident memory', () => {
  const toBuiltUrl = (file: string) => pathToFileURL(`${repository}/dist/${file}`).href
  const upstreams = {
    HTTP: `new (await import('${toBuiltUrl('sources/manifest/invoke/http-upstream.js')}')).httpUpstream`,
    MCP: `new (await import('${toBuiltUrl('mcp/upstream/mcp-upstream.js')}')).McpUpstream`,
  }
  const floods = {
    'a gigabyte': faults['sends a gigabyte'],
    'chunks without end': faults['sends chunks without end'],
    'chunks of one byte without end': {
      do: (socket: Socket) => {
        socket.write(`${json}${chunkedHeader}`)
        flood(socket, toChunk('1').repeat(10_000))
      },
    },
    'events without end': faults['sends events without end'],
    'one event without end': faults['sends one event without end'],
    'huge headers': faults['sends huge headers'],
  }
  const entries = Object.entries(floods)
  const sample = entries.slice(0, amount(1, entries.length))
  const cases = Object.entries(upstreams).flatMap(([kind, expression]) =>
    sample.map(([label, fault]) => ({ kind, expression, label, fault })),
  )

  test.each(cases)(
    'rises by less than 64 MB over $kind for $label',
    async ({ expression, fault }) => {
      const { url } = await aRawServer((socket, request) => {
        const { id, method, params } = JSON.parse(request.body)
        if (method === 'server/discover') return sendResult(socket, id, discoverResult)
        const isFlood = request.line.includes('flood') || params?.name === 'flood'
        if (isFlood) return fault?.do(socket)
        const result = { resultType: 'complete', content: [], structuredContent: {} }
        reply(socket, 200, JSON.stringify({ jsonrpc: '2.0', id: id ?? 0, result }))
      })

      const script = startScript(
        `
      const { Cancellation } = await import('${toBuiltUrl('capability/cancellation.js')}')
      const upstream = ${expression}({ endpoint: args[0] })
      const call = async (capability) => {
        const cancellation = new Cancellation()
        const timer = setTimeout(() => cancellation.cancel('late'), ${deadlineMs})
        const { outcome } = await upstream.call({
          capability, input: {}, cancellation, listener: { progress() {}, log() {} },
        })
        clearTimeout(timer)
        return outcome.failure?.code ?? outcome.kind
      }
      // Warm up: the young generation grows to its usual size under any load.
      for (let i = 0; i < ${amount(100, 500)}; i++) await call('healthy')
      const before = await call('healthy')
      const startBytes = process.memoryUsage().rss
      let maxBytes = startBytes
      const measure = () => { maxBytes = Math.max(maxBytes, process.memoryUsage().rss) }
      const timer = setInterval(measure, 5)
      const during = []
      for (let i = 0; i < 3; i++) during.push(await call('flood'))
      measure()
      clearInterval(timer)
      const after = await call('healthy')
      await upstream.close()
      console.log(JSON.stringify({ before, during, after, rise: (maxBytes - startBytes) / 1e6 }))
      process.exit()
      `,
        [url],
      )
      await script.exited

      const report = JSON.parse(script.stdout() || JSON.stringify(script.stderr()))
      expect(report).toMatchObject({ before: 'done', after: 'done' })
      for (const code of report.during)
        expect(code).toMatch(/^upstream_(too_large|invalid|stopped)$/)
      expect(report.rise).toBeLessThan(64)
    },
  )
})
