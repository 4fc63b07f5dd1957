import type { Caller } from '../../capability/caller.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { Arrival } from '../handler.ts'
import { isTooDeep } from '../json-depth.ts'

/** Where agents of other runtimes ask. Whatever is sent, a frame comes back. */
export interface FrameEndpoint {
  receive(frame: unknown, from: FrameSender): Promise<object>
}

export interface FrameSender {
  readonly caller: Caller
  readonly cancellation: Cancellation
}

/** `POST` with one frame; the answer is one frame. */
export async function serveFrame(
  endpoint: FrameEndpoint,
  arrival: Arrival,
  caller: Caller,
  bodyLimit: number,
  reply: HttpReply,
): Promise<void> {
  const { method, headers, cancellation } = arrival
  const refuse = (status: number, error: string) => reply.answer(status, JSON.stringify({ error }))
  if (method !== 'POST') return refuse(405, 'Only POST')
  // A page cannot send this type without asking first.
  if (!/^application\/json\b/i.test(headers['content-type'] ?? ''))
    return refuse(415, 'Content-Type must be application/json')
  const text = await arrival.readBody(bodyLimit)
  if (text === undefined) return refuse(413, `The body is larger than ${bodyLimit} bytes`)
  if (isTooDeep(text)) return refuse(400, 'The body is nested too deeply')
  const frame = await endpoint.receive(parse(text), { caller, cancellation })
  reply.answer(200, JSON.stringify(frame))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
