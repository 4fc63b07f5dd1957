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
  /** Is cancelled when the client disconnects. */
  readonly cancellation: Cancellation
}

/** Sends one response, by exactly one of `answer`, `stream` and `pipe`. */
export interface HttpReply {
  /** Adds headers to the response, whichever way it is sent. */
  setHeaders(headers: Headers): void
  /** Sends a complete body. The parts of an array are written one by one: cached bytes are not copied. */
  answer(status: number, body: Body, headers?: Headers): void
  /** Opens a stream of server-sent events. */
  stream(headers?: Headers): EventStream
  /** Sends a web `Response`, such as one from the SDK's transport. */
  pipe(response: Response): void
}

export type Body = '' | string | readonly (string | Uint8Array)[]
export type Headers = Readonly<Record<string, string>>

export interface EventStream {
  /** Messages after the end are dropped. A client that does not read is disconnected. */
  send(message: object): void
  /** Sends a comment, so that proxies do not close an idle stream. */
  keepAlive(): void
  end(): void
  onClose(listener: () => void): void
}
