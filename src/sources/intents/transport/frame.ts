import { isPlainObject } from '../../../capability/json.ts'

export const protocol = 'INTENTUSNET/1.0'

export const messageTypes = ['intent', 'emcl', 'response', 'error'] as const
export type MessageType = (typeof messageTypes)[number]

/** What goes over the wire, whatever is in it. */
export interface Frame {
  readonly protocol: typeof protocol
  readonly messageType: MessageType
  /** Ours are here and not in the body, whose fields other runtimes count. */
  readonly headers: FrameHeaders
  readonly body: unknown
}

export interface FrameHeaders {
  readonly traceparent?: string
  /** Milliseconds that are left. Not a time: clocks differ. */
  readonly timeout?: number
  /** What the sender wants to be able to repeat this under. */
  readonly idempotencyKey?: string
  /** Of an answer: which of its replicas gave it. */
  readonly instance?: string
}

export const toFrame = (
  messageType: MessageType,
  body: unknown,
  headers: FrameHeaders = {},
): Frame => ({ protocol, messageType, headers, body })

/** Some runtimes leave out the headers. */
export function readFrame(value: unknown): Frame | { readonly fault: string } {
  if (!isPlainObject(value)) return { fault: 'A frame is a JSON object.' }
  if (value.protocol !== protocol) return { fault: `The protocol must be ${protocol}.` }
  const messageType = messageTypes.find((type) => type === value.messageType)
  if (!messageType) return { fault: `The messageType must be one of ${messageTypes.join(', ')}.` }
  const said = isPlainObject(value.headers) ? value.headers : {}
  const { traceparent, timeout, idempotencyKey, instance } = said
  const headers: FrameHeaders = {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof timeout === 'number' && timeout > 0 && { timeout }),
    ...(typeof idempotencyKey === 'string' && { idempotencyKey }),
    ...(typeof instance === 'string' && { instance: instance.slice(0, 128) }),
  }
  return { protocol, messageType, headers, body: value.body }
}
