import type { Fault } from '../../../capability/fault.ts'

/** A serialised frame to send to another runtime. */
export interface OutgoingFrame {
  readonly body: string
  readonly traceparent: string
  /** Sent as a bearer token. */
  readonly token: string | undefined
  /** The request must not be carried out twice: avoid a doubtful outcome even at a cost in time. */
  readonly mustNotRepeat: boolean
  readonly signal: AbortSignal
}

export interface TransportReply {
  readonly body: string
  /** HTTP status; absent over NATS. */
  readonly status?: number
}

export interface TransportFault extends Fault<keyof typeof transportFaults> {
  /** Internal reason, for the log. */
  readonly cause: string
}

export type TransportResult = TransportReply | TransportFault

/** The ways a frame can fail to get a reply, and whether the agent may have acted. */
export const transportFaults = {
  /** The policy does not allow the connection. */
  egress_refused: 'nothing',
  /** No byte of the frame can have been read. */
  not_sent: 'nothing',
  /** The frame was too large to send. */
  too_large: 'nothing',
  /** The NATS server does not allow publishing to the subject. */
  forbidden: 'nothing',
  /** The frame was sent, and no reply came. */
  no_reply: 'unknown',
  /** The reply was too large to read. */
  reply_too_large: 'unknown',
} as const

/** Sends one frame and returns the reply. Never rejects. */
export type Transport = (frame: OutgoingFrame) => Promise<TransportResult>

/** Upper bound for a reply over any transport. */
export const maxAnswerBytes = 4 * 1024 * 1024
