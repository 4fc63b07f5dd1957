import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * The flooding caller of `fairness.mjs`, in a process of its own: `node flood.mjs ATTACK PORT TOKEN`.
 * Each attack has a bounded rate, above every limit of the server.
 */
const [name, port, token] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 2000 })
const megabyte = 1024 * 1024

const modernHeaders = (method, tool) => ({
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method,
  ...(tool && { 'mcp-name': tool }),
})

const toBody = (method, params) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })

const send = (body, headers) =>
  new Promise((resolve) => {
    const outgoing = request(
      {
        agent,
        port,
        host: '127.0.0.1',
        path: '/mcp',
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'content-length': Buffer.byteLength(body),
          ...headers,
        },
      },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode)).on('error', () => resolve('error'))
      },
    )
    outgoing.on('error', () => resolve('error'))
    outgoing.end(body)
  })

const call = (tool, toArguments) => {
  let body
  return () => {
    body ??= toBody('tools/call', { name: tool, arguments: toArguments() })
    return send(body, modernHeaders('tools/call', tool))
  }
}

/** An endless body of one kilobyte a second, of which four megabytes are announced. */
const trickle = () =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    const fields = { ...modernHeaders('tools/call', 'echo'), authorization: `Bearer ${token}` }
    const head = Object.entries(fields).map(([field, value]) => `${field}: ${value}\r\n`)
    socket.write(
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${4 * megabyte}\r\n${head.join('')}\r\n`,
    )
    const timer = setInterval(() => socket.write(' '.repeat(1024)), 1000)
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(timer)
      resolve('closed')
    })
  })

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'flood', version: '1' },
  },
})
const listen = toBody('subscriptions/listen', { notifications: { toolsListChanged: true } })

/** Requests per second, and the largest number at a time. */
const attacks = {
  bodies: {
    rate: 20,
    limit: 64,
    run: call('echo', () => ({ text: 'x'.repeat(4 * megabyte - 1024) })),
  },
  values: { rate: 10, limit: 64, run: call('echo', () => ({ text: Array(megabyte).fill({}) })) },
  medium: { rate: 50, limit: 64, run: call('echo', () => ({ text: Array(8000).fill(1) })) },
  trickle: { rate: 50, limit: 200, run: trickle },
  calls: { rate: 200, limit: 600, run: call('slow', () => ({})) },
  streams: {
    rate: 200,
    limit: 1500,
    run: () => send(listen, modernHeaders('subscriptions/listen')),
  },
  sessions: { rate: 100, limit: 64, run: () => send(initialize, {}) },
  regexes: { rate: 20, limit: 64, run: call('match', () => ({ text: 'ab'.repeat(100_000) })) },
  approvals: { rate: 100, limit: 64, run: () => call('guarded', () => ({ id: randomUUID() }))() },
}

const { rate, limit, run } = attacks[name]
process.stdout.write('started\n')
const counts = {}
let running = 0
process.once('SIGTERM', () => {
  process.stdout.write(JSON.stringify(counts), () => process.exit(0))
})
for (;;) {
  await sleep(1000 / rate)
  if (running >= limit) continue
  running++
  void run().then((status) => {
    running--
    counts[status] = (counts[status] ?? 0) + 1
  })
}
