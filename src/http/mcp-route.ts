import type { HttpEndpoint } from '../mcp/http-endpoint.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import { codes } from '../mcp/rpc-error.ts'
import type { TokenGates } from '../sources/records/grants/token-gate.ts'
import type { Arrival } from './arrival.ts'
import { authenticate, type Identify } from './callers.ts'
import { type Gate, refuse } from './gate.ts'
import { type BodyLimits, type BodyOptions, readJsonBody } from './json-body.ts'
import { authenticateByGrant, toRevocableReply } from './records/grant-callers.ts'

export type Endpoints = ReadonlyMap<string, HttpEndpoint>

export interface McpRouteOptions {
  readonly endpoints: Endpoints
  /** Mounts of records, whose callers are grants. */
  readonly tokenGates: TokenGates
  readonly identify: Identify
  readonly body: BodyLimits
}

/** MCP over Streamable HTTP, at the path of every mount. */
export function mcpRoute(options: McpRouteOptions): Gate {
  const { endpoints, tokenGates, body } = options
  const bodyOptions = { ...body, tokenGates, refuse: refuseBody }
  return (arrival, reply) => {
    const endpoint = endpoints.get(arrival.path)
    return endpoint ? serveMcp(endpoint, options, bodyOptions, arrival, reply) : 'pass'
  }
}

function serveMcp(
  endpoint: HttpEndpoint,
  { tokenGates, identify }: McpRouteOptions,
  bodyOptions: BodyOptions,
  arrival: Arrival,
  plainReply: HttpReply,
): 'answered' | Promise<void> {
  const { method, path, headers, address, cancellation } = arrival
  const tokenGate = tokenGates.get(path)
  const caller = tokenGate
    ? authenticateByGrant(tokenGate, arrival, plainReply)
    : authenticate(identify, arrival, plainReply)
  if (!caller) return 'answered'
  const reply = tokenGate ? toRevocableReply(tokenGate, arrival, plainReply) : plainReply
  const handle = (body: unknown) =>
    endpoint.handle({ method, headers, body, caller, address, cancellation }, reply)
  if (method !== 'POST') return handle(undefined) ?? 'answered'
  return readJsonBody(arrival, caller.subject, reply, bodyOptions, (json) =>
    json === undefined
      ? refuse(reply, 400, 'The body is not valid JSON', { code: codes.parse })
      : handle(json),
  )
}

const refuseBody: BodyOptions['refuse'] = (reply, status, message, headers = {}) =>
  refuse(reply, status, message, {
    code: status === 400 ? codes.invalidRequest : codes.server,
    headers,
  })
