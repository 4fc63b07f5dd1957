import type { Caller } from '../../capability/caller.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Headers, HttpReply } from '../../mcp/http-port.ts'
import type { TokenGates } from '../../sources/records/grants/token-gate.ts'
import type { Arrival } from '../arrival.ts'
import { authenticate, type Identify } from '../callers.ts'
import type { Gate } from '../gate.ts'
import { type BodyLimits, type BodyOptions, readJsonBody } from '../json-body.ts'

/** Receives frames from agents of other runtimes. Every frame is answered with a frame. */
export interface FrameEndpoint {
  /** `frame` is `undefined` when the body is not valid JSON. */
  receive(frame: unknown, sender: FrameSender): Promise<object>
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
  readonly body: BodyLimits
}

/** `POST` with one frame; the answer is one frame. */
export function frameRoute({ frames, tokenGates, identify, body }: FrameRouteOptions): Gate {
  const bodyOptions = { ...body, tokenGates, refuse }
  return (arrival, reply) => {
    const endpoint = frames(arrival.path)
    if (!endpoint) return 'pass'
    const caller = authenticate(identify, arrival, reply)
    return caller ? serveFrame(endpoint, bodyOptions, arrival, caller, reply) : 'answered'
  }
}

async function serveFrame(
  endpoint: FrameEndpoint,
  bodyOptions: BodyOptions,
  arrival: Arrival,
  caller: Caller,
  reply: HttpReply,
): Promise<void> {
  if (arrival.method !== 'POST') return refuse(reply, 405, 'Only POST is allowed here')
  return readJsonBody(arrival, caller.subject, reply, bodyOptions, async (json) => {
    const frame = await endpoint.receive(json, { caller, cancellation: arrival.cancellation })
    reply.answer(200, JSON.stringify(frame))
  })
}

const refuse = (reply: HttpReply, status: number, error: string, headers?: Headers): void =>
  reply.answer(status, JSON.stringify({ error }), headers)
