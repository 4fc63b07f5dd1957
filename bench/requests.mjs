import { isDeepStrictEqual } from 'node:util'
import { serverInfo, toToolName } from './contestants/tools.mjs'

/** @typedef {'2026-07-28' | '2025-11-25'} Era */

const echoText = 'All contestants answer this.'

/** Incremented in place by the load generator: idempotency would replay an identical write. */
const counter = '0'.repeat(12)

const toText = ({ effect }) => (effect === 'write' ? `Effect ${counter}.` : echoText)

/** A message without an id: the caller adds one per request. */
export const toMessage = (row) => {
  const { era, method } = row
  const key = row.effect === 'write' && { 'dev.drawbridge/idempotency-key': `key-${counter}` }
  const params = {
    ...paramsByMethod[method](row),
    ...(era === '2026-07-28' && { _meta: { ...envelope, ...key } }),
  }
  return { jsonrpc: '2.0', method, params }
}

const paramsByMethod = {
  'tools/list': () => ({}),
  // The tool in the middle, which is neither best nor worst case of a linear scan.
  'tools/call': (row) => ({ name: toToolName(row.tools >> 1), arguments: { text: toText(row) } }),
}

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': serverInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
}

export const toHeaders = ({ era, method, tools, session }) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': era,
  ...(era === '2026-07-28' && { 'mcp-method': method }),
  ...(era === '2026-07-28' && method === 'tools/call' && { 'mcp-name': toToolName(tools >> 1) }),
  ...(session && { 'mcp-session-id': session }),
})

/** The first messages of a 2025 client; the second one is a notification. */
export const handshake = [
  {
    jsonrpc: '2.0',
    id: 'handshake',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: serverInfo },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
]

/** The bytes of one complete HTTP request, so that the load generator only has to send them. */
export const toHttpBytes = (request) => {
  const body = JSON.stringify({ ...toMessage(request), id: 1 })
  const headers = { ...toHeaders(request), 'content-length': Buffer.byteLength(body) }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const host = `host: 127.0.0.1:${request.port}\r\n`
  return Buffer.from(`POST /mcp HTTP/1.1\r\n${host}${head.join('')}\r\n${body}`)
}

/** Offsets of the counters in a request. Their first digits become the connection's number. */
export const toCounters = (bytes, connection) => {
  const offsets = []
  for (let at = bytes.indexOf(counter); at >= 0; at = bytes.indexOf(counter, at + 1))
    offsets.push(at)
  for (const at of offsets) bytes.write(String(connection).padStart(3, '0'), at)
  return offsets
}

/** The text of a message with another counter. */
export const setCounter = (text, value) =>
  text.replaceAll(counter, String(value).padStart(counter.length, '0'))

/** Parses the message in a body, which is JSON or an SSE stream with one event. */
export const toAnswer = (body) => JSON.parse(/^data: (\{.*)$/m.exec(body)?.[1] ?? body)

/** Throws if the answer differs from the one that all contestants have to give. */
/** A copied ledger is checked in the background before it is used: copying changes the times of a file. */
export const isChecking = ({ result }) =>
  result?._meta?.['dev.drawbridge/failure']?.code === 'ledger_checking'

export const checkAnswer = (row, answer) => {
  const { contestant, method } = row
  if (!isCorrect[method](answer.result ?? {}, row)) {
    throw new Error(
      `${contestant} gave a wrong answer to ${method}: ${JSON.stringify(answer).slice(0, 400)}`,
    )
  }
}

const isCorrect = {
  'tools/list': (result, { tools }) => {
    const names = new Set(result.tools?.map((tool) => tool.name))
    const first = result.tools?.[0]?.inputSchema
    return (
      names.size === tools &&
      Array.from({ length: tools }, (_, index) => toToolName(index)).every((n) => names.has(n)) &&
      first.properties.text.type === 'string' &&
      first.properties.times.maximum === 10
    )
  },
  'tools/call': (result, row) => {
    const text = toText(row)
    return (
      !result.isError &&
      isDeepStrictEqual(result.structuredContent, { text }) &&
      isDeepStrictEqual(JSON.parse(result.content[0].text), { text })
    )
  },
}
