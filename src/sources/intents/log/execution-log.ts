import type { Effects } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { Certainty } from '../envelope/error-codes.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'
import type { RoutingDecision } from '../router/choose-agents.ts'

/**
 * Where every execution is written down, step by step. What a promise here acknowledges survives
 * the end of this process, and, where it is `synced`, of the machine.
 */
export interface ExecutionLog {
  /** Events that are given at the same time are written together, in order. */
  append(events: readonly ExecutionEvent[], how: Durability): Promise<void>
  readonly read: ExecutionReader
  /** Makes an interrupted execution this process's own; `false` when somebody else was faster. */
  claim(id: string): Promise<boolean>
}

/** Nobody waits for `soon`. */
export type Durability = 'synced' | 'written' | 'soon'

export interface ExecutionReader {
  /** Latest first. */
  list(filter: ExecutionFilter): readonly ExecutionSummary[]
  find(id: string): LoggedExecution | undefined
  /** Follows the chain of digests; the first event that is not what was written is named. */
  verify(): { readonly count: number; readonly broken?: { number: number; reason: string } }
}

export interface ExecutionFilter {
  readonly state?: ExecutionState
  readonly intent?: string
  readonly limit: number
}

/**
 * `unknown`: it may have taken effect, and nobody can say. `interrupted`: whoever ran it is gone.
 */
export const executionStates = ['running', 'done', 'failed', 'unknown', 'interrupted'] as const
export type ExecutionState = (typeof executionStates)[number]

export interface ExecutionSummary {
  readonly id: string
  readonly intent: string
  readonly version: string
  readonly caller: string
  readonly state: ExecutionState
  readonly started: number
  readonly finished?: number
}

export interface LoggedExecution extends ExecutionSummary {
  /** All that was written of it, in order. */
  readonly events: readonly ExecutionEvent[]
}

export type ExecutionEvent =
  | BegunEvent
  | ResumedEvent
  | AskedEvent
  | AnsweredEvent
  | LateEvent
  | EndedEvent
  | Setup

interface About {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Written before anybody is asked. */
export interface BegunEvent extends About {
  readonly event: 'begun'
  readonly source: string
  /** Where the capability is found; what was called. */
  readonly address: string
  readonly caller: string
  readonly effects: Effects
  readonly envelope: Logged<IntentEnvelope>
  readonly decision: RoutingDecision
  /** Which process began it; whoever keeps the log says so. */
  readonly boot?: string
}

export interface ResumedEvent extends About {
  readonly event: 'resumed'
  readonly by: string
  readonly decision: RoutingDecision
}

/** Written before an agent is asked: what is not here was not asked. */
export interface AskedEvent extends About {
  readonly event: 'asked'
  readonly number: number
  readonly agent: string
}

export interface AnsweredEvent extends About {
  readonly event: 'answered'
  readonly number: number
  readonly agent: string
  /** Which of its replicas, where it has any. */
  readonly instance?: string
  readonly duration: number
  readonly payload?: JsonObject | Sealed
  readonly error?: ErrorInfo
  readonly certainty?: Certainty
  readonly cause?: string
}

/** An answer that came when nobody waited for it any more: it may say what really happened. */
export interface LateEvent extends About {
  readonly event: 'late'
  readonly number: number
  readonly agent: string
  readonly outcome: 'ok' | ErrorInfo['code']
}

export interface EndedEvent extends About {
  readonly event: 'ended'
  readonly state: 'done' | 'failed' | 'unknown'
  readonly duration: number
  readonly response: Logged<AgentResponse>
}

/** What the decisions after it were made with. */
export interface Setup {
  readonly event: 'setup'
  readonly at: number
  readonly registry: string
  readonly agents: readonly JsonObject[]
  readonly policy: string
  readonly rules: JsonObject
}

/** As it was, with a payload that may be unreadable to those without the key. */
export type Logged<T extends { readonly payload: unknown }> = Omit<T, 'payload'> & {
  readonly payload: T['payload'] | Sealed
}

/** Something that only those with the key can read. */
export interface Sealed {
  readonly sealed: {
    readonly kid: string
    readonly iv: string
    readonly data: string
  }
}

export const isSealed = (value: unknown): value is Sealed =>
  typeof value === 'object' &&
  value !== null &&
  'sealed' in value &&
  Object.keys(value).length === 1 &&
  typeof value.sealed === 'object'
