import type { Content } from './content.ts'
import type { Failure } from './failure.ts'
import type { Json, JsonObject } from './json.ts'
import type { Question } from './question.ts'

/** The result of a call: `done`, `asking` (needs an answer from the client first) or `failed`. */
export type Outcome = Done | Asking | Failed

/** The call succeeded. */
export interface Done {
  readonly kind: 'done'
  /** The result as structured data. */
  readonly data?: unknown
  /** The result as content blocks; derived from `data` when absent. */
  readonly content?: readonly Content[]
  /** The time at which the data was current at its origin, ISO 8601. */
  readonly fetchedAt?: string
  /** The actual cost in the unit of the capability's `cost` rule, when known. */
  readonly cost?: number
  /** Additional information, such as the balance of a budget. */
  readonly notices?: readonly Notice[]
  /** Id of the call that produced this result, when it is replayed. */
  readonly callId?: string
}

/** Needs answers from the client, which repeats the call with them. */
export interface Asking {
  readonly kind: 'asking'
  /** The questions by name; the answers come back in `call.answers` under the same names. */
  readonly questions: Readonly<Record<string, Question>>
  /** Handed to the client sealed, and back to the repeated call as `call.state`. */
  readonly state?: Json
}

/** The call failed. `failureSet` creates it. */
export interface Failed {
  readonly kind: 'failed'
  /** Code, message and the party that can fix it. */
  readonly failure: Failure
  /** Content that could be produced despite the failure. */
  readonly content?: readonly Content[]
  /** Additional information, such as the balance of a budget. */
  readonly notices?: readonly Notice[]
  /** Id of the call that produced this result, when it is replayed. */
  readonly callId?: string
}

/** Additional information sent with a result. */
export interface Notice {
  /** Subject; decides the key in `_meta`. */
  readonly about: 'budget' | 'replayed' | 'retry' | 'route' | 'nextPage'
  /** The information for the model. */
  readonly text: string
  /** The information for programs. */
  readonly data: JsonObject
}

/**
 * A successful outcome with structured data.
 *
 * @example
 * ```ts
 * import { type Capability, done } from 'drawbridge-mcp'
 *
 * const add: Capability['invoke'] = async ({ input }) => {
 *   const { a, b } = input as { a: number; b: number }
 *   return done({ sum: a + b })
 * }
 * ```
 */
export const done = (data: unknown): Done => ({ kind: 'done', data })

/** Type guard for failed outcomes; also accepts unions of `Failed` and unrelated values. */
export const isFailed = (value: unknown): value is Failed =>
  typeof value === 'object' &&
  value !== null &&
  'kind' in value &&
  value.kind === 'failed' &&
  'failure' in value
