import type { Gate } from './gate.ts'

/** Adds CORS headers; without them a browser withholds the answer from the page. */
export const allowOrigin: Gate = ({ headers: { origin } }, reply) => {
  if (origin !== undefined) reply.setHeaders(toCorsHeaders(origin))
  return 'pass'
}

const toCorsHeaders = (origin: string) => ({
  'access-control-allow-origin': origin,
  vary: 'Origin',
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id',
  'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
  'access-control-max-age': '600',
})

/** Answers a CORS preflight request. */
export const answerPreflight: Gate = ({ method }, reply) => {
  if (method !== 'OPTIONS') return 'pass'
  reply.answer(204, '')
  return 'answered'
}
