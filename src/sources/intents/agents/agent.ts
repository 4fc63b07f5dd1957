import type { Contract } from '../../../capability/contract.ts'
import type { Effects } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { AgentResult } from '../envelope/agent-result.ts'
import type { IntentEnvelope, Strategy } from '../envelope/envelope.ts'
import type { ErrorCode } from '../envelope/error-codes.ts'
import { type ErrorInfo, toErrorInfo } from '../envelope/response.ts'

export const effectClasses = ['read_only', 'reversible', 'irreversible'] as const
/** Shorthand for the effects of an intent: it reads, it can be undone, or it cannot. */
export type EffectClass = (typeof effectClasses)[number]

export const routingModes = ['direct', 'fallback', 'broadcast', 'parallel', 'race'] as const
/**
 * How agents are chosen. `direct`: the target or first healthy agent. `fallback`: one after another
 * until one succeeds. `broadcast`: all, and all answers are returned. `parallel`: all at once, and the
 * success of the first in order is returned. `race`: like `parallel`, but the fastest success.
 */
export type RoutingMode = (typeof routingModes)[number]

/** An agent as a developer defines it: the intents it serves, and the function that serves them. */
export interface AgentDefinition {
  /** Unique among all agents; agents of equal priority are asked in the order of their names. */
  readonly name: string
  /** Version of the agent, for the log. Default: `1.0`. */
  readonly version?: string
  /** Agents with a lower number are asked first. Default: 100. */
  readonly priority?: number
  /** Maximum number of concurrent calls. Default: 1000. */
  readonly concurrency?: number
  /** Milliseconds for one attempt. Default: the source's `attemptTimeout`. */
  readonly timeout?: number
  /** The intents this agent serves; at least one. */
  readonly capabilities: readonly CapabilityDefinition[]
  /**
   * Serves one request. Return a plain object as the payload of the response (any other value
   * becomes `{ value }`); throw or return an {@link AgentError} to fail. Anything else that is thrown
   * counts as a bug: its message goes to the log and not to the model.
   */
  handle(envelope: IntentEnvelope, context: AgentContext): unknown
}

/** One intent that an agent serves. */
export interface CapabilityDefinition {
  /** Name of the intent, which is also the name of the tool; `*` serves every declared intent. */
  readonly intent: string
  /** Version of the intent; `*` serves every version. Default: `1.0`. */
  readonly version?: string
  /** A name for people, shown in user interfaces. */
  readonly title?: string
  /** Tells the model what the intent does and when to use it. */
  readonly description?: string
  /** Schema of the payload: Zod, any Standard Schema, or JSON Schema 2020-12. */
  readonly inputSchema?: unknown
  /** Schema of the answer, in the same formats. */
  readonly outputSchema?: unknown
  /** Effects of the intent; the worst case is assumed for whatever is not declared. */
  readonly effects?: EffectClass | Partial<Effects>
  /** Agents to ask after this one, in order; `[]` for none. Default: all, in registry order. */
  readonly fallbackAgents?: readonly string[]
  /** How this intent is routed. Default: the source's `strategy`. */
  readonly strategy?: RoutingMode
}

/** Passed to an agent's `handle` together with the envelope. */
export interface AgentContext {
  /** Aborts on timeout, when the client disconnects, and when another agent's answer was used. */
  readonly signal: AbortSignal
  /** End of the time for the whole call, in milliseconds since the epoch. */
  readonly deadline: number
  /** W3C Trace Context header for outgoing requests: `00-<trace>-<span>-01`. */
  readonly traceparent: string
}

/**
 * Defines an agent. Returns its argument; exists for type checking and completion.
 *
 * @example
 * ```ts
 * import { defineAgent } from 'drawbridge-mcp'
 *
 * export default defineAgent({
 *   name: 'clerk',
 *   capabilities: [{ intent: 'Quote', description: 'Price of an article.', effects: 'read_only' }],
 *   handle: ({ payload }) => ({ sku: payload.sku, cents: 4900 }),
 * })
 * ```
 */
export const defineAgent = (agent: AgentDefinition): AgentDefinition => agent

/**
 * Thrown or returned by an agent to report a failure. The message is shown to the model.
 *
 * @example
 * ```ts
 * import { AgentError, defineAgent } from 'drawbridge-mcp'
 *
 * export default defineAgent({
 *   name: 'clerk',
 *   capabilities: [{ intent: 'Quote', effects: 'read_only' }],
 *   handle: ({ payload }) => {
 *     if (!payload.sku) throw new AgentError('VALIDATION_ERROR', 'sku is missing.')
 *     return { cents: 4900 }
 *   },
 * })
 * ```
 */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  /** The error in the wire format. */
  readonly info: ErrorInfo

  /**
   * @param code decides whether another agent may be asked
   * @param message shown to the model: what is wrong and what to do next. With a code for a breakdown,
   * such as `INTERNAL_AGENT_ERROR`, only the operator sees it
   * @param options `retryable`: the same request may succeed later; `details`: JSON for the caller
   */
  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly retryable?: boolean; readonly details?: JsonObject } = {},
  ) {
    super(message)
    this.info = toErrorInfo(code, message, options)
  }
}

/** An agent as the router sees it, local or remote. */
export interface Agent {
  readonly name: string
  readonly version: string
  readonly priority: number
  readonly remote: boolean
  readonly concurrency: number
  readonly timeout?: number
  readonly offers: readonly Offer[]
  /** Address of a remote agent. */
  readonly url?: string
  /** Digest of the code of a local agent. */
  readonly code?: string
  /** Must not reject. */
  invoke(envelope: IntentEnvelope, context: AgentContext): Promise<AgentResult>
}

/** A capability of an agent with its schemas compiled and its effects completed. */
export interface Offer {
  readonly intent: string
  readonly version: string
  readonly title?: string
  readonly description?: string
  readonly input?: Contract
  readonly output?: Contract
  readonly effects: Effects
  readonly fallbackAgents?: readonly string[]
  readonly strategy?: RoutingMode
  /** JSON pointer of its declaration. */
  readonly pointer: string
}

/** Envelopes have no strategy `race`: it is `parallel` on the wire. */
export const toStrategy = (
  mode: RoutingMode,
): { readonly strategy: Strategy; readonly race: boolean } =>
  mode === 'race' ? { strategy: 'parallel', race: true } : { strategy: mode, race: false }
