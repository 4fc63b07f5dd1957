import type { Cancellation } from '../capability/cancellation.ts'
import type { HttpRequest } from '../mcp/http-port.ts'

/** An HTTP request whose headers have arrived and whose body has not been read yet. */
export interface Arrival {
  readonly method: string
  readonly path: string
  /** The query string without its question mark. */
  readonly query: string
  readonly headers: HttpRequest['headers']
  /** Is cancelled when the client disconnects. */
  readonly cancellation: Cancellation
  /** The body, or `undefined` when it is larger than `maxBytes`. */
  readBytes(maxBytes: number): Promise<Buffer | undefined>
}
