/** A frame on its way to another runtime. */
export interface OutgoingFrame {
  readonly body: string
  readonly traceparent: string
  /** Shown as a bearer token. */
  readonly token: string | undefined
  /** What it asks for must not happen twice: a doubt about its fate costs more than time. */
  readonly delicate: boolean
  readonly signal: AbortSignal
}

/** What came back, or how far it got. */
export type TransportResult =
  | { readonly body: string /** Of HTTP. */; readonly status?: number }
  | {
      readonly failed: keyof typeof transportFailures
      readonly cause: string
    }

export type TransportFailure = Extract<TransportResult, { failed: unknown }>

/** How a frame can fail to bring an answer. */
export const transportFailures = {
  /** Nobody can have read a byte of it. */
  not_sent: 'nothing',
  /** It was too large to be sent. */
  too_large: 'nothing',
  /** Whoever passes it on does not let us. */
  forbidden: 'nothing',
  /** It was sent, and then nothing can be said. */
  sent: 'unknown',
  /** What came back was too large to be read. */
  endless: 'unknown',
} as const

/** Brings a frame there and an answer back, and never throws. */
export type Transport = (parcel: OutgoingFrame) => Promise<TransportResult>

/** No answer may be larger, whatever it comes by. */
export const maxAnswerBytes = 4 * 1024 * 1024
