import type { ClientCapabilities } from '@modelcontextprotocol/server'
import type { Caller } from '../capability/caller.ts'
import type { Cancellation } from '../capability/cancellation.ts'
import { type Listener, silentListener } from '../capability/listener.ts'

/** The context of one request, the same for every transport and protocol era. */
export interface Exchange {
  readonly caller: Caller
  readonly client: ClientCapabilities
  readonly cancellation: Cancellation
  readonly listener: Listener
  /** Unvalidated input from the client, like `requestState`. */
  readonly inputResponses: unknown
  readonly requestState: unknown
  /** HTTP headers. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** `true` if clients of this era repeat arguments in headers, which must then agree with the arguments. */
  readonly repeatsArguments?: boolean
}

/** A call without a connected client: no notifications and no questions. */
export const detachedExchange = {
  client: {},
  listener: silentListener,
  inputResponses: undefined,
  requestState: undefined,
}
