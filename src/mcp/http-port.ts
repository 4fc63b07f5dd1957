import type { Caller } from '../capability/caller.ts'
import type { Cancellation } from '../capability/cancellation.ts'

/** One HTTP request whose body is already bounded and parsed, and whose caller is already known. */
export interface HttpRequest {
  readonly method: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Absent for requests without a body. */
  readonly body: unknown
  readonly caller: Caller
  /** Is cancelled when the client leaves. */
  readonly cancellation: Cancellation
}

/** The way back to the client: used once, one way or the other. */
export interface HttpReply {
  /** Headers that go with whatever is answered. */
  allow(headers: Headers): void
  /** One whole answer. A list of parts is written as it is, so that cached bytes are not copied. */
  answer(status: number, body: Body, headers?: Headers): void
  /** Server-sent events, for as long as either side likes. */
  stream(headers?: Headers): EventStream
  /** Somebody else's whole answer. */
  pipe(response: Response): void
}

export type Body = '' | string | readonly (string | Uint8Array)[]
export type Headers = Readonly<Record<string, string>>

export interface EventStream {
  /** Anything after the end, or to a reader who does not keep up, is dropped. */
  send(message: object): void
  /** Keeps proxies from closing a silent stream. */
  keepAlive(): void
  end(): void
  onClose(listener: () => void): void
}
