import { isDeepStrictEqual } from 'node:util'
import { serverInfo, toToolName } from './contestants/tools.mjs'

/** @typedef {'2026-07-28' | '2025-11-25'} Era */

const said = 'All contestants answer this.'

/** Counted up in place by whoever sends it: an effect that is asked for twice happens once. */
const counter = '0'.repeat(12)

const toText = ({ effect }) => (effect === 'write' ? `Effect ${counter}.` : said)

/** Ids are spliced in by the caller: a connection with many outstanding calls needs many. */
export const toMessage = (row) => {
  const { era, method } = row
  const key = row.effect === 'write' && { 'dev.drawbridge/idempotency-key': `key-${counter}` }
  const params = {
    ...calls[method](row),
    ...(era === '2026-07-28' && { _meta: { ...envelope, ...key } }),
  }
  return { jsonrpc: '2.0', method, params }
}

const calls = {
  'tools/list': () => ({}),
  // The middle one: neither the first nor the last that a scan would find.
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

/** What a 2025 client says first; the second message has no answer. */
export const opening = [
  {
    jsonrpc: '2.0',
    id: 'opening',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: serverInfo },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
]

/** The bytes of one HTTP request, whole, so that the load generator does nothing but send. */
export const toHttpBytes = (request) => {
  const body = JSON.stringify({ ...toMessage(request), id: 1 })
  const headers = { ...toHeaders(request), 'content-length': Buffer.byteLength(body) }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const host = `host: 127.0.0.1:${request.port}\r\n`
  return Buffer.from(`POST /mcp HTTP/1.1\r\n${host}${head.join('')}\r\n${body}`)
}

/** Where the digits are that must differ from one request to the next, and what they begin with. */
export const toCounters = (bytes, connection) => {
  const places = []
  for (let at = bytes.indexOf(counter); at >= 0; at = bytes.indexOf(counter, at + 1))
    places.push(at)
  for (const at of places) bytes.write(String(connection).padStart(3, '0'), at)
  return places
}

/** The message in a body, which is JSON or the one event of a stream. */
export const toAnswer = (body) => JSON.parse(/^data: (\{.*)$/m.exec(body)?.[1] ?? body)

/** Throws unless this is the answer that all contestants owe: speed counts only with it. */
export const checkAnswer = (row, answer) => {
  const { who, method } = row
  if (!answered[method](answer.result ?? {}, row)) {
    throw new Error(
      `${who} gave a wrong answer to ${method}: ${JSON.stringify(answer).slice(0, 400)}`,
    )
  }
}

const answered = {
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
