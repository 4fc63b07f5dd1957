import { isDeepStrictEqual } from 'node:util'
import { serverInfo, toToolName } from './contestants/tools.mjs'

/** @typedef {'2026-07-28' | '2025-11-25'} Era */

const text = 'All contestants answer this.'

/** Ids are spliced in by the caller: a connection with many outstanding calls needs many. */
export const toMessage = ({ era, method, tools }) => {
  const params = { ...calls[method](tools), ...(era === '2026-07-28' && { _meta: envelope }) }
  return { jsonrpc: '2.0', method, params }
}

const calls = {
  'tools/list': () => ({}),
  // The middle one: neither the first nor the last that a scan would find.
  'tools/call': (tools) => ({ name: toToolName(tools >> 1), arguments: { text } }),
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

/** The message in a body, which is JSON or the one event of a stream. */
export const toAnswer = (body) => JSON.parse(/^data: (\{.*)$/m.exec(body)?.[1] ?? body)

/** Throws unless this is the answer that all contestants owe: speed counts only with it. */
export const checkAnswer = ({ who, method, tools }, answer) => {
  if (!answered[method](answer.result ?? {}, tools)) {
    throw new Error(
      `${who} gave a wrong answer to ${method}: ${JSON.stringify(answer).slice(0, 400)}`,
    )
  }
}

const answered = {
  'tools/list': (result, tools) => {
    const names = new Set(result.tools?.map((tool) => tool.name))
    const first = result.tools?.[0]?.inputSchema
    return (
      names.size === tools &&
      Array.from({ length: tools }, (_, index) => toToolName(index)).every((n) => names.has(n)) &&
      first.properties.text.type === 'string' &&
      first.properties.times.maximum === 10
    )
  },
  'tools/call': (result) =>
    !result.isError &&
    isDeepStrictEqual(result.structuredContent, { text }) &&
    isDeepStrictEqual(JSON.parse(result.content[0].text), { text }),
}
