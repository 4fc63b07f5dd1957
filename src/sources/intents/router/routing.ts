import type { Cancellation } from '../../../capability/cancellation.ts'
import type { Registry } from '../agents/registry.ts'
import type { AgentResponse } from '../envelope/response.ts'
import type { ExecutionLog } from '../log/execution-log.ts'
import type { Protect } from '../log/journal.ts'
import type { RoutingDecision, RoutingPolicy } from './choose-agents.ts'
import type { Health } from './health.ts'
import type { Hooks } from './hooks.ts'
import type { Tried } from './strategies.ts'

export interface RouterOptions {
  readonly registry: Registry
  readonly policy: RoutingPolicy
  readonly health: Health
  readonly log?: ExecutionLog
  readonly protect?: Protect
  readonly hooks?: Hooks
  /** Milliseconds since the epoch: what is written down. */
  readonly now: () => number
  /** The same, but it cannot be set: what is measured. */
  readonly steadyNow: () => number
  /** Hears of what went wrong beside the answer. */
  readonly onTrouble?: (error: unknown) => void
}

/** What surrounds one envelope. */
export interface RoutingContext {
  readonly id: string
  readonly source: string
  readonly address: string
  readonly caller: string
  readonly cancellation: Cancellation
  /** Milliseconds for everything, where that is less than the policy allows. */
  readonly timeout?: number
  /** Goes on with what another process began. */
  readonly resumed?: { readonly by: string; readonly attempts: number }
}

/** The one answer, and how it came about. */
export interface Routed {
  readonly response: AgentResponse
  /** `unknown`: it may have taken effect. */
  readonly state: 'done' | 'failed' | 'unknown'
  readonly route: Route
  /** What must be told to the operator only. */
  readonly cause?: string
}

/** How an answer came about. The same for the same decision and the same answers. */
export interface Route {
  readonly decision: RoutingDecision
  readonly agent: string
  readonly tried: readonly Tried[]
}
