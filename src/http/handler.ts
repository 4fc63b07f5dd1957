import type { Cancellation } from '../capability/cancellation.ts'
import type { HttpEndpoint } from '../mcp/http-endpoint.ts'
import type { HttpReply, HttpRequest } from '../mcp/http-port.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'
import { type ApprovalRoutes, isApprovalPath, serveApprovals } from './approvals/approval-routes.ts'
import type { Identify } from './callers.ts'
import { type FrameEndpoint, serveFrame } from './frames/frame-route.ts'
import type { Guard } from './guard.ts'
import { isTooDeep } from './json-depth.ts'
import { carriesOwner, holdsOwner, refuseByGrant, toBearer } from './records/grant-callers.ts'
import { isRecordsPath, type RecordsApi, serveRecords } from './records/records-routes.ts'
import { RevocableReply } from './records/revocable-reply.ts'

export interface HandlerOptions {
  /** By path. */
  readonly mounts: ReadonlyMap<string, HttpEndpoint>
  /** Of mounts that look at tokens themselves. */
  readonly records: RecordsApi
  readonly guard: Guard
  readonly identify: Identify
  readonly bodyLimit: number
  readonly approvals: ApprovalRoutes
  /** By path, where other runtimes may ask. */
  readonly frames: (path: string) => FrameEndpoint | undefined
  readonly health: () => object
}

/** A request as far as it has arrived. */
export interface Arrival {
  readonly method: string
  readonly path: string
  /** Without its question mark. */
  readonly query: string
  readonly headers: HttpRequest['headers']
  readonly cancellation: Cancellation
  /** The body as text, or `undefined` when it is longer than the limit. */
  readBody(limit: number): Promise<string | undefined>
  /** The same as it is. */
  readBytes(limit: number): Promise<Uint8Array | undefined>
}

export type Handler = (arrival: Arrival, reply: HttpReply) => Promise<void>

/** Everything that happens to a request before it reaches a mount, on every route alike. */
export function createHandler(options: HandlerOptions): Handler {
  const { mounts, records, guard, identify, bodyLimit, approvals, frames, health } = options
  return async (arrival, reply) => {
    const { method, path, headers } = arrival
    const refusal = guard.refuse(headers.host, headers.origin)
    if (refusal !== undefined) return refuse(reply, 403, refusal)
    if (headers.origin !== undefined) reply.allow(toCors(headers.origin))
    if (method === 'OPTIONS') return reply.answer(204, '')
    if (records.doors.size > 0 && isRecordsPath(path))
      return serveRecords(records, arrival, bodyLimit, reply)
    if (!spoken.has(method))
      return reply.answer(405, toError(-32000, `${method} means nothing here`), {
        allow: [...spoken].join(', '),
      })
    if (path === '/health') return reply.answer(200, JSON.stringify(health()))
    const endpoint = mounts.get(path)
    const frame = frames(path)
    const door = records.doors.get(path)
    const doors = records.doors.size === 0 ? noDoors : [...records.doors.values()]
    if (doors.length > 0 && carriesOwner(doors, arrival))
      return refuseByGrant('owner', arrival, reply)
    if (!endpoint && !frame && !isApprovalPath(path))
      return refuse(reply, 404, `Nothing is served at ${path}`)
    const bearer = toBearer(headers.authorization)
    const admitted = door?.admit(bearer)
    if (admitted && 'refusal' in admitted) return refuseByGrant(admitted.refusal, arrival, reply)
    const caller = admitted ? admitted.caller : identify(headers.authorization)
    if (!caller) return reply.answer(401, unauthorized, challenge)

    if (frame) return serveFrame(frame, arrival, caller, bodyLimit, reply)
    if (!endpoint) return serveApprovals(approvals, arrival, caller, reply)
    const { cancellation } = arrival
    const isWelcome = () => door !== undefined && !('refusal' in door.admit(bearer))
    const back = door ? new RevocableReply(reply, isWelcome, cancellation) : reply
    if (method !== 'POST') return endpoint.handle({ ...arrival, body: undefined, caller }, back)
    if (!isJson(headers['content-type']))
      return refuse(reply, 415, 'Content-Type must be application/json')
    const text = await arrival.readBody(bodyLimit)
    if (text === undefined) return refuse(reply, 413, `The body is larger than ${bodyLimit} bytes`)
    if (holdsOwner(doors, text)) return refuseByGrant('owner', arrival, reply)
    if (isTooDeep(text)) return refuse(reply, 400, 'The body is nested too deeply', -32600)
    const body = parse(text)
    if (body === undefined) return refuse(reply, 400, 'The body is not valid JSON', -32700)
    return endpoint.handle({ method, headers, body, caller, cancellation }, back)
  }
}

const noDoors: readonly TokenGate[] = []

const spoken = new Set(['GET', 'POST', 'DELETE'])

/** A page that may talk must be told so, or its browser keeps the answer from it. */
const toCors = (origin: string) => ({
  'access-control-allow-origin': origin,
  vary: 'Origin',
  'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
  'access-control-allow-headers':
    'Authorization, Content-Type, Idempotency-Key, Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id',
  'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
  'access-control-max-age': '600',
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isJson = (type: string | undefined): boolean =>
  type !== undefined && /^application\/json\s*(;|$)/i.test(type)

const challenge = { 'www-authenticate': 'Bearer realm="drawbridge"' }
const unauthorized = toError(-32000, 'A valid bearer token is required')

const refuse = (reply: HttpReply, status: number, message: string, code = -32000): void =>
  reply.answer(status, toError(code, message))

function toError(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null })
}
