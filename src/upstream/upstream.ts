import type { Listener } from '../capability/call.ts'
import type { Cancellation } from '../capability/cancellation.ts'
import type { Outcome } from '../capability/outcome.ts'

/** One way to reach an agent. */
export interface Upstream {
  /** Never throws; ends at the latest when the request is cancelled. */
  call(request: UpstreamRequest): Promise<UpstreamAnswer>
  close(): Promise<void>
}

export interface UpstreamRequest {
  /** Its id at the agent. */
  readonly capability: string
  readonly input: unknown
  readonly cancellation: Cancellation
  readonly listener: Listener
  readonly idempotencyKey?: string
  /** As W3C Trace Context writes it. */
  readonly traceparent?: string
}

export interface UpstreamAnswer {
  readonly outcome: Outcome
  readonly reached: Reached
}

/**
 * Whether the agent got to work on it.
 * - `no`: certainly not, so that even what writes may be tried again.
 * - `yes`: it said itself what came of it, and its word counts.
 * - `maybe`: it may have, and nothing certain came back. What writes must not be called failed.
 */
export type Reached = 'no' | 'maybe' | 'yes'

export interface UpstreamOptions {
  readonly endpoint: string
  /** Looked up when a connection needs it, so that no secret is kept in text. */
  readonly credential?: () => Promise<Credential | undefined>
  readonly limits?: UpstreamLimits
}

/** A header that proves to the agent who we are. Never the caller's own. */
export interface Credential {
  readonly header: string
  readonly value: string
}

export interface UpstreamLimits {
  /** Bytes of one answer. */
  readonly answer?: number
  /** Milliseconds until a connection that others will share must stand. */
  readonly connect?: number
}
