import type { Cancellation } from '../capability/cancellation.ts'
import type { HttpRequest } from '../mcp/http-port.ts'

/** An HTTP request whose headers have arrived and whose body has not been read yet. */
export interface Arrival {
  readonly method: string
  readonly path: string
  /** The query string without its question mark. */
  readonly query: string
  readonly headers: HttpRequest['headers']
  /** The network address of the client, where it is known. */
  readonly address: string | undefined
  /** Is cancelled when the client disconnects. */
  readonly cancellation: Cancellation
  /** Reads the body. A large one is accounted to `caller`, and may have to wait. */
  readBytes(maxBytes: number, caller: string): Promise<Buffer | BodyRefusal>
  /** Calls the listener when the response has ended or the client has disconnected. */
  onEnd(listener: () => void): void
}

/**
 * - `too_large`: larger than `maxBytes`.
 * - `busy`: the caller already sends more than its share.
 * - `too_slow`: not received in time.
 */
export type BodyRefusal = 'too_large' | 'busy' | 'too_slow'
