import type { Caller } from '../../capability/caller.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import { parseJson } from '../../json/parse-json.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import { containsOwnerToken, type TokenGates } from '../../sources/records/grants/token-gate.ts'
import type { Arrival } from '../arrival.ts'
import { authenticate, type Identify } from '../callers.ts'
import { isJson } from '../content-type.ts'
import type { Gate } from '../gate.ts'
import { isTooDeep } from '../json-depth.ts'
import { refuseToken } from '../records/grant-callers.ts'

/** Receives frames from agents of other runtimes. Every frame is answered with a frame. */
export interface FrameEndpoint {
  /** `frame` is `undefined` when the body is not valid JSON. */
  receive(frame: unknown, from: FrameSender): Promise<object>
}

export interface FrameSender {
  readonly caller: Caller
  readonly cancellation: Cancellation
}

/** Finds the endpoint at a path. */
export type Frames = (path: string) => FrameEndpoint | undefined

export interface FrameRouteOptions {
  readonly frames: Frames
  readonly tokenGates: TokenGates
  readonly identify: Identify
  readonly bodyLimit: number
}

/** `POST` with one frame; the answer is one frame. */
export const frameRoute =
  (options: FrameRouteOptions): Gate =>
  (arrival, reply) => {
    const endpoint = options.frames(arrival.path)
    if (!endpoint) return 'pass'
    const caller = authenticate(options.identify, arrival, reply)
    return caller ? serveFrame(endpoint, options, arrival, caller, reply) : 'answered'
  }

async function serveFrame(
  endpoint: FrameEndpoint,
  { tokenGates, bodyLimit }: FrameRouteOptions,
  arrival: Arrival,
  caller: Caller,
  reply: HttpReply,
): Promise<void> {
  const { method, headers, cancellation } = arrival
  const refuse = (status: number, error: string) => reply.answer(status, JSON.stringify({ error }))
  if (method !== 'POST') return refuse(405, 'Only POST is allowed here')
  // CSRF: a page cannot send this content type without a preflight request.
  if (!isJson(headers['content-type'])) return refuse(415, 'Content-Type must be application/json')
  const text = await arrival.readBody(bodyLimit)
  if (text === undefined) return refuse(413, `The body is larger than ${bodyLimit} bytes`)
  if (containsOwnerToken(tokenGates, text)) return refuseToken('owner', arrival, reply)
  if (isTooDeep(text)) return refuse(400, 'The body is nested too deeply')
  const frame = await endpoint.receive(parseJson(text), { caller, cancellation })
  reply.answer(200, JSON.stringify(frame))
}
