import type { Cancellation } from '../capability/cancellation.ts'
import type { JsonObject } from '../capability/json.ts'
import type { Listener } from '../capability/listener.ts'
import type { Failed, Outcome } from '../capability/outcome.ts'
import type { Egress } from './egress/egress.ts'

/** A connection to an upstream agent, over one protocol. */
export interface Upstream {
  /** Does not reject; settles at the latest when the request is cancelled. */
  call(request: UpstreamRequest): Promise<UpstreamAnswer>
  /** Asks what the agent offers, without running a capability. Settles like `call`. */
  probe(request: ProbeRequest): Promise<ProbeAnswer>
  close(): Promise<void>
}

export interface ProbeRequest {
  /** Ids of the capabilities at the agent. */
  readonly capabilities: readonly string[]
  readonly cancellation: Cancellation
  /** URL that may be read without any effect, for protocols that cannot list what they offer. */
  readonly url?: string
}

/** What the agent says of each capability that was asked about, or why it says nothing. */
export type ProbeAnswer = Failed | ReadonlyMap<string, Offer>

/** `unknown`: the agent answered, but its answer does not tell. */
export type Offer =
  | { readonly kind: 'offered'; readonly input?: JsonObject; readonly output?: JsonObject }
  | { readonly kind: 'missing' | 'unknown'; readonly why: string }

export interface UpstreamRequest {
  /** Id of the capability at the agent. */
  readonly capability: string
  readonly input: unknown
  readonly cancellation: Cancellation
  readonly listener: Listener
  readonly idempotencyKey?: string
  /** W3C Trace Context header. */
  readonly traceparent?: string
}

export interface UpstreamAnswer {
  readonly outcome: Outcome
  readonly reached: Reached
}

/**
 * Tells if the agent may have executed the request.
 * - `no`: certainly not, so that even a write may be retried.
 * - `yes`: the agent reported the outcome itself.
 * - `maybe`: no reliable answer. A write must be reported as `outcome_unknown`, not as failed.
 */
export type Reached = 'no' | 'maybe' | 'yes'

export interface UpstreamOptions {
  readonly endpoint: string
  /** Decides every connection. Default: the rules without a policy. */
  readonly egress?: Egress
  /** Called when a connection is made, so that the secret is not kept in memory. */
  readonly credential?: () => Promise<Credential | undefined>
  readonly limits?: UpstreamLimits
}

/** The HTTP header that authenticates Drawbridge to the agent. Never the caller's token. */
export interface Credential {
  readonly header: string
  readonly value: string
}

export interface UpstreamLimits {
  /** Maximum size of one answer, in bytes. */
  readonly answer?: number
  /** Milliseconds for establishing a shared connection. */
  readonly connect?: number
}
