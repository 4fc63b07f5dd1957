import type { Effects } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { Certainty } from '../envelope/error-codes.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'
import type { RoutingDecision } from '../router/choose-agents.ts'

/**
 * Append-only log of executions. An event whose promise has resolved survives a crash of the process;
 * a `synced` one survives a power failure too.
 */
export interface ExecutionLog {
  /** Group commit: concurrent appends are written together, in order. */
  append(events: readonly ExecutionEvent[], durability: Durability): Promise<void>
  readonly read: ExecutionReader
  /** Takes over an interrupted execution; `false` when another process already has. */
  claim(id: string): Promise<boolean>
}

/** `synced`: flushed to disk. `written`: committed without a flush. `soon`: not awaited. */
export type Durability = 'synced' | 'written' | 'soon'

export interface ExecutionReader {
  /** Latest first. */
  list(filter: ExecutionFilter): readonly ExecutionSummary[]
  find(id: string): LoggedExecution | undefined
  /** Verifies the hash chain and reports the first event that was changed. */
  verify(): { readonly count: number; readonly broken?: { number: number; reason: string } }
}

/** Selects executions. */
export interface ExecutionFilter {
  /** Only executions in this state. */
  readonly state?: ExecutionState
  /** Only executions of this intent. */
  readonly intent?: string
  /** Maximum number of executions, the latest ones. */
  readonly limit: number
}

export const executionStates = ['running', 'done', 'failed', 'unknown', 'interrupted'] as const
/** `unknown`: it may have taken effect. `interrupted`: the process that ran it has ended. */
export type ExecutionState = (typeof executionStates)[number]

/** One execution of an intent, without its events. Times are milliseconds since the epoch. */
export interface ExecutionSummary {
  /** Id of the execution; for a tool call, the id of the call. */
  readonly id: string
  /** Name of the intent. */
  readonly intent: string
  /** Version of the intent. */
  readonly version: string
  /** Subject of the caller. */
  readonly caller: string
  /** State of the execution now. */
  readonly state: ExecutionState
  /** Start of the execution. */
  readonly started: number
  /** End of the execution, if it has ended. */
  readonly finished?: number
}

/** One execution of an intent, with its events. */
export interface LoggedExecution extends ExecutionSummary {
  /** Every event of the execution, in order. */
  readonly events: readonly ExecutionEvent[]
}

/** One event of an execution, told apart by `event`. */
export type ExecutionEvent =
  | BegunEvent
  | ResumedEvent
  | AskedEvent
  | AnsweredEvent
  | LateEvent
  | EndedEvent
  | SetupEvent

interface EventStamp {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Written before the first agent is asked. */
export interface BegunEvent extends EventStamp {
  readonly event: 'begun'
  readonly source: string
  /** Address of the capability that was called. */
  readonly address: string
  readonly caller: string
  readonly effects: Effects
  readonly envelope: WithLoggedPayload<IntentEnvelope>
  readonly decision: RoutingDecision
  /** Id of the process that began it; the log implementation adds it. */
  readonly boot?: string
}

export interface ResumedEvent extends EventStamp {
  readonly event: 'resumed'
  readonly by: string
  readonly decision: RoutingDecision
}

/** Written ahead: an agent without this event was not asked. */
export interface AskedEvent extends EventStamp {
  readonly event: 'asked'
  readonly number: number
  readonly agent: string
}

export interface AnsweredEvent extends EventStamp {
  readonly event: 'answered'
  readonly number: number
  readonly agent: string
  /** The replica that answered, where the agent has several. */
  readonly instance?: string
  readonly duration: number
  readonly payload?: JsonObject | SealedPayload
  readonly error?: ErrorInfo
  readonly certainty?: Certainty
  readonly cause?: string
}

/** An answer that arrived after the attempt had ended: shows whether it took effect. */
export interface LateEvent extends EventStamp {
  readonly event: 'late'
  readonly number: number
  readonly agent: string
  readonly outcome: 'ok' | ErrorInfo['code']
}

export interface EndedEvent extends EventStamp {
  readonly event: 'ended'
  readonly state: 'done' | 'failed' | 'unknown'
  readonly duration: number
  readonly response: WithLoggedPayload<AgentResponse>
}

/** The registry and policy that the following decisions were made with. */
export interface SetupEvent {
  readonly event: 'setup'
  readonly at: number
  readonly registry: string
  readonly agents: readonly JsonObject[]
  readonly policy: string
  readonly rules: JsonObject
}

/** A logged value whose payload may be encrypted. */
export type WithLoggedPayload<T extends { readonly payload: unknown }> = Omit<T, 'payload'> & {
  readonly payload: T['payload'] | SealedPayload
}

/** An AES-256-GCM encrypted payload. */
export interface SealedPayload {
  readonly sealed: {
    readonly kid: string
    readonly iv: string
    readonly data: string
  }
}

export const isSealed = (value: unknown): value is SealedPayload =>
  typeof value === 'object' &&
  value !== null &&
  'sealed' in value &&
  Object.keys(value).length === 1 &&
  typeof value.sealed === 'object'
