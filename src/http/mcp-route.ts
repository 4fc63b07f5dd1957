import { parseJson } from '../json/parse-json.ts'
import type { HttpEndpoint } from '../mcp/http-endpoint.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import { codes } from '../mcp/rpc-error.ts'
import { containsOwnerToken, type TokenGates } from '../sources/records/grants/token-gate.ts'
import type { Arrival } from './arrival.ts'
import { authenticate, type Identify } from './callers.ts'
import { isJson } from './content-type.ts'
import { type Gate, refuse } from './gate.ts'
import { isTooDeep } from './json-depth.ts'
import { authenticateByGrant, refuseToken, toRevocableReply } from './records/grant-callers.ts'

export type Endpoints = ReadonlyMap<string, HttpEndpoint>

export interface McpRouteOptions {
  readonly endpoints: Endpoints
  /** Mounts of records, whose callers are grants. */
  readonly tokenGates: TokenGates
  readonly identify: Identify
  readonly bodyLimit: number
}

/** MCP over Streamable HTTP, at the path of every mount. */
export const mcpRoute =
  (options: McpRouteOptions): Gate =>
  (arrival, reply) => {
    const endpoint = options.endpoints.get(arrival.path)
    return endpoint ? serveMcp(endpoint, options, arrival, reply) : 'pass'
  }

async function serveMcp(
  endpoint: HttpEndpoint,
  { tokenGates, identify, bodyLimit }: McpRouteOptions,
  arrival: Arrival,
  plainReply: HttpReply,
): Promise<void> {
  const { method, path, headers, cancellation } = arrival
  const tokenGate = tokenGates.get(path)
  const caller = tokenGate
    ? authenticateByGrant(tokenGate, arrival, plainReply)
    : authenticate(identify, arrival, plainReply)
  if (!caller) return
  const reply = tokenGate ? toRevocableReply(tokenGate, arrival, plainReply) : plainReply
  if (method !== 'POST')
    return endpoint.handle({ method, headers, body: undefined, caller, cancellation }, reply)
  if (!isJson(headers['content-type']))
    return refuse(reply, 415, 'Content-Type must be application/json')
  const text = await arrival.readBody(bodyLimit)
  if (text === undefined) return refuse(reply, 413, `The body is larger than ${bodyLimit} bytes`)
  if (containsOwnerToken(tokenGates, text)) return refuseToken('owner', arrival, reply)
  if (isTooDeep(text))
    return refuse(reply, 400, 'The body is nested too deeply', { code: codes.invalidRequest })
  const body = parseJson(text)
  if (body === undefined)
    return refuse(reply, 400, 'The body is not valid JSON', { code: codes.parse })
  return endpoint.handle({ method, headers, body, caller, cancellation }, reply)
}
