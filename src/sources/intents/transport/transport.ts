/** A frame on its way to another runtime. */
export interface Parcel {
  readonly body: string
  readonly traceparent: string
  /** Shown as a bearer token. */
  readonly token: string | undefined
  /** What it asks for must not happen twice: a doubt about its fate costs more than time. */
  readonly delicate: boolean
  readonly signal: AbortSignal
}

/** What came back, or how far it got. */
export type Carried =
  | { readonly body: string /** Of HTTP. */; readonly status?: number }
  | {
      readonly failed: keyof typeof mishaps
      readonly cause: string
    }

export type Mishap = Extract<Carried, { failed: unknown }>

/** How a frame can fail to bring an answer. */
export const mishaps = {
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
export type Carry = (parcel: Parcel) => Promise<Carried>

/** No answer may be larger, whatever it comes by. */
export const largestAnswer = 4 * 1024 * 1024
