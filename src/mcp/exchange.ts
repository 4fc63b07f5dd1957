import type { ClientCapabilities } from '@modelcontextprotocol/server'
import { type Listener, silentListener } from '../capability/call.ts'
import type { Caller } from '../capability/caller.ts'
import type { Cancellation } from '../capability/cancellation.ts'

/** What surrounds one request, whatever transport and era it came by. */
export interface Exchange {
  readonly caller: Caller
  readonly client: ClientCapabilities
  readonly cancellation: Cancellation
  readonly listener: Listener
  /** As they came: hostile until parsed. */
  readonly inputResponses: unknown
  readonly requestState: unknown
  /** The headers, where the transport has them and they must agree with the arguments. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** A call without a client at its other end: nobody to tell, nobody to ask. */
export const detachedExchange = {
  client: {},
  listener: silentListener,
  inputResponses: undefined,
  requestState: undefined,
}
