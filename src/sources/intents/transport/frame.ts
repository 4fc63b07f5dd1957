import type { Fault } from '../../../capability/fault.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'

export const protocol = 'INTENTUSNET/1.0'

export const messageTypes = ['intent', 'emcl', 'response', 'error'] as const
export type MessageType = (typeof messageTypes)[number]

/** The unit of transmission of the protocol. */
export interface Frame {
  readonly protocol: typeof protocol
  readonly messageType: MessageType
  /** Our extensions live here: other runtimes check the set of fields of the body. */
  readonly headers: FrameHeaders
  readonly body: unknown
}

export interface FrameHeaders {
  readonly traceparent?: string
  /** Remaining milliseconds; a duration, because clocks differ. */
  readonly timeout?: number
  /** Repeating a request under the same key does not repeat its effect. */
  readonly idempotencyKey?: string
  /** The replica that answered; set in replies. */
  readonly instance?: string
}

export const toFrame = (
  messageType: MessageType,
  body: unknown,
  headers: FrameHeaders = {},
): Frame => ({ protocol, messageType, headers, body })

/** Accepts frames without headers: some runtimes leave them out. */
export function readFrame(value: unknown): Frame | Fault {
  if (!isPlainObject(value)) return { fault: 'A frame must be a JSON object.' }
  if (value.protocol !== protocol) return { fault: `The protocol must be ${protocol}.` }
  const messageType = messageTypes.find((type) => type === value.messageType)
  if (!messageType) return { fault: `The messageType must be one of ${messageTypes.join(', ')}.` }
  const { traceparent, timeout, idempotencyKey, instance } = isPlainObject(value.headers)
    ? value.headers
    : {}
  const headers: FrameHeaders = {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof timeout === 'number' && timeout > 0 && { timeout }),
    ...(typeof idempotencyKey === 'string' && { idempotencyKey }),
    ...(typeof instance === 'string' && { instance: instance.slice(0, 128) }),
  }
  return { protocol, messageType, headers, body: value.body }
}
