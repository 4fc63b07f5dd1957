import type { Caller } from '../capability/caller.ts'
import type { Cancellation } from '../capability/cancellation.ts'

/** An HTTP request with a parsed body of limited size and an authenticated caller. */
export interface HttpRequest {
  readonly method: string
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** `undefined` for requests without a body. */
  readonly body: unknown
  readonly caller: Caller
  /** The network address of the client, where it is known. */
  readonly address: string | undefined
  /** Is cancelled when the client disconnects. */
  readonly cancellation: Cancellation
}

/** Sends one response, by exactly one of `answer` and `stream`. */
export interface HttpReply {
  /** Adds headers to the response, whichever way it is sent. */
  setHeaders(headers: Headers): void
  /** Sends a complete body. The parts of an array are written one by one: cached bytes are not copied. */
  answer(status: number, body: Body, headers?: Headers): void
  /** Opens a stream of server-sent events. */
  stream(headers?: Headers): EventStream
}

export type Body = '' | string | readonly (string | Uint8Array)[]
export type Headers = Readonly<Record<string, string>>

/** A stream of server-sent events. What is sent after its end is dropped. A client that does not read is disconnected. */
export interface EventStream {
  /** Sends a message, with an event id if the stream can be resumed after it. */
  send(message: Body, id?: string): void
  /** Sends an event without data, from whose id the stream can be resumed after `retryMs`. */
  prime(id: string, retryMs: number): void
  /** Sends a comment, so that proxies do not close an idle stream. */
  keepAlive(): void
  end(): void
  /** Calls the listener when the stream is closed, and at once if it is closed already. */
  onClose(listener: () => void): void
}

const keepAliveIntervalMs = 15_000

/** Keeps an idle stream open until it is closed. */
export function keepOpen(stream: EventStream): void {
  const timer = setInterval(() => stream.keepAlive(), keepAliveIntervalMs)
  stream.onClose(() => clearInterval(timer))
}

/** The whole text of a body. */
export const toText = (body: Body): string =>
  typeof body === 'string'
    ? body
    : body.map((part) => (typeof part === 'string' ? part : Buffer.from(part).toString())).join('')
