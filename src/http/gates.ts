import { type Gate, refuse } from './gate.ts'
import type { Guard } from './guard.ts'

/** Refuses foreign `Host` and `Origin` headers. */
export const checkAddress =
  (guard: Guard): Gate =>
  ({ headers }, reply) => {
    const refusal = guard.refuse(headers.host, headers.origin)
    if (refusal === undefined) return 'pass'
    refuse(reply, 403, refusal)
    return 'answered'
  }

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

const methods = new Set(['GET', 'POST', 'DELETE'])
const allow = [...methods].join(', ')

export const checkMethod: Gate = ({ method }, reply) => {
  if (methods.has(method)) return 'pass'
  refuse(reply, 405, `Method ${method} is not allowed here`, { headers: { allow } })
  return 'answered'
}

export const refusePath: Gate = ({ path }, reply) => {
  refuse(reply, 404, `Nothing is served at ${path}`)
  return 'answered'
}
