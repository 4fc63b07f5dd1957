import type { Cancellation } from '../../../capability/cancellation.ts'
import type { Registry } from '../agents/registry.ts'
import type { AgentResult } from '../envelope/agent-result.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { Certainty, ErrorCode } from '../envelope/error-codes.ts'
import type { AgentResponse } from '../envelope/response.ts'
import type { ExecutionLog } from '../log/execution-log.ts'
import type { EncryptPayload, Journal } from '../log/journal.ts'
import type { RoutingDecision, RoutingPolicy } from './choose-agents.ts'
import type { Health } from './health.ts'
import type { RoutingHook } from './hooks.ts'

export interface RouterOptions {
  readonly registry: Registry
  readonly policy: RoutingPolicy
  readonly health: Health
  readonly log?: ExecutionLog
  readonly encryptPayload?: EncryptPayload
  readonly hooks?: readonly RoutingHook[]
  /** Wall clock for timestamps, in milliseconds since the epoch. */
  readonly now: () => number
  /** Monotonic clock for durations and deadlines, in milliseconds. */
  readonly steadyNow: () => number
  /** Receives errors that do not change the response. */
  readonly onOperationalError?: (error: unknown) => void
}

/** The call that one envelope is routed for. */
export interface RoutingContext {
  readonly id: string
  readonly source: string
  readonly address: string
  readonly caller: string
  readonly cancellation: Cancellation
  /** Milliseconds for all attempts together; the policy's timeout is the upper bound. */
  readonly timeout?: number
  /** Present when an execution that another process began is continued. */
  readonly resumed?: { readonly by: string; readonly attempts: number }
}

/** State that all attempts for one envelope share. */
export interface RoutingRun {
  readonly options: RouterOptions
  readonly context: RoutingContext
  readonly envelope: IntentEnvelope
  readonly journal: Journal
  /** End of the time for all attempts together, on the monotonic clock. */
  readonly deadline: number
  /** Cause of the most recent failure, for the operator. */
  lastCause: string | undefined
}

/** The result of a strategy. */
export interface RoutingResult {
  readonly result: AgentResult
  /** Name of the agent the result comes from. */
  readonly agent: string
  /** Ordered by the plan, independent of which agent was faster. */
  readonly tried: readonly AttemptSummary[]
}

export interface AttemptSummary {
  readonly agent: string
  readonly retry?: number
  /** `not_needed`: another agent's answer was used. */
  readonly outcome: 'ok' | ErrorCode | 'not_needed'
  readonly certainty?: Certainty
}

/** The response to an envelope, and the route that led to it. */
export interface RoutedResponse {
  readonly response: AgentResponse
  /** `unknown`: it may have taken effect. */
  readonly state: 'done' | 'failed' | 'unknown'
  readonly route: Route
  /** Internal reason, for the operator only. */
  readonly cause?: string
}

/** Deterministic: the same decision and the same answers give the same route. */
export interface Route {
  readonly decision: RoutingDecision
  readonly agent: string
  readonly tried: readonly AttemptSummary[]
}
