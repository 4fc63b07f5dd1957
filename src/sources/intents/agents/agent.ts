import type { Contract } from '../../../capability/contract.ts'
import type { Effects } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { IntentEnvelope, Strategy } from '../envelope/envelope.ts'
import type { Certainty, ErrorCode } from '../envelope/error-codes.ts'
import { type AgentResult, type ErrorInfo, toErrorInfo } from '../envelope/response.ts'

export const effectClasses = ['read_only', 'reversible', 'irreversible'] as const
export type EffectClass = (typeof effectClasses)[number]

/** `race` is `parallel` where the first to finish wins: who that is depends on the clock. */
export const ways = ['direct', 'fallback', 'broadcast', 'parallel', 'race'] as const
export type Way = (typeof ways)[number]

/** An agent as a developer writes it down. */
export interface AgentDefinition {
  /** Unique; decides among agents of equal priority. */
  readonly name: string
  readonly version?: string
  /** Lower is asked earlier; 100 where absent. */
  readonly priority?: number
  /** How many calls it takes at a time. */
  readonly concurrency?: number
  /** Milliseconds for one attempt. */
  readonly timeout?: number
  readonly capabilities: readonly CapabilityDefinition[]
  /**
   * A plain object is the payload of the answer. To fail, throw or return an `AgentError`; anything
   * else that is thrown is a bug, and its message goes to the log only.
   */
  handle(envelope: IntentEnvelope, context: AgentContext): unknown
}

/** One intent that an agent serves. */
export interface CapabilityDefinition {
  /** `*` serves every intent that somebody declares. */
  readonly intent: string
  /** `1.0` where absent; `*` serves every version. */
  readonly version?: string
  readonly title?: string
  readonly description?: string
  /** Zod, any Standard Schema, or JSON Schema 2020-12. */
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
  /** What is not said is taken for the worst. */
  readonly effects?: EffectClass | Partial<Effects>
  /** Who is asked next, in this order; an empty list means nobody. Registry order where absent. */
  readonly fallbackAgents?: readonly string[]
  /** How this intent is routed; as the source says where absent. */
  readonly strategy?: Way
}

/** What an agent is given besides the envelope. */
export interface AgentContext {
  /** Aborts when its time is over, when the client has left, or when its answer is not needed. */
  readonly signal: AbortSignal
  /** When everything must be over, in milliseconds since the epoch. */
  readonly deadline: number
  /** For what it calls itself: `00-<trace>-<span>-01`. */
  readonly traceparent: string
}

/** Returns its argument; exists so that it is checked while it is written. */
export const defineAgent = (agent: AgentDefinition): AgentDefinition => agent

/** How an agent says that it failed. The message reaches the model. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly info: ErrorInfo

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly details?: JsonObject } = {},
  ) {
    super(message)
    this.info = toErrorInfo(code, message, options)
  }
}

/** An agent as the router knows it, wherever it runs. */
export interface Agent {
  readonly name: string
  readonly version: string
  readonly priority: number
  readonly remote: boolean
  readonly concurrency: number
  readonly timeout?: number
  readonly offers: readonly Offer[]
  /** Must not throw. */
  invoke(envelope: IntentEnvelope, context: AgentContext): Promise<AgentAnswer>
}

export interface Offer {
  readonly intent: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly input?: Contract
  readonly output?: Contract
  readonly effects: Effects
  readonly fallbackAgents?: readonly string[]
  readonly strategy?: Way
  /** JSON pointer of its declaration. */
  readonly pointer: string
}

/** What came of asking an agent. */
export type AgentAnswer = AgentResult & {
  /** Where more is known than the code of the error says. */
  readonly certainty?: Certainty
  /** Which replica of the agent it was. */
  readonly instance?: string
  /** For the log only. */
  readonly cause?: string
}

/** A way of the source or of a capability, as envelopes say it. */
export const toStrategy = (way: Way): { readonly strategy: Strategy; readonly race: boolean } =>
  way === 'race' ? { strategy: 'parallel', race: true } : { strategy: way, race: false }
