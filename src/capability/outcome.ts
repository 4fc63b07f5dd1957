import type { Notice } from './call.ts'
import type { Content } from './content.ts'
import type { Failure } from './failure.ts'
import type { Json } from './json.ts'
import type { Question } from './question.ts'

/** The result of a call: `done`, `asking` (needs an answer from the client first) or `failed`. */
export type Outcome = Done | Asking | Failed

export interface Done {
  readonly kind: 'done'
  /** The result as structured data. */
  readonly data?: unknown
  /** The result as content blocks; derived from `data` when absent. */
  readonly content?: readonly Content[]
  /** The time at which the data was current at its origin, ISO 8601. */
  readonly fetchedAt?: string
  /** The actual cost, when known. */
  readonly cost?: number
  readonly notices?: readonly Notice[]
  /** Id of the call that produced this result, when it is replayed. */
  readonly callId?: string
}

/** Needs answers from the client, which repeats the call with them. */
export interface Asking {
  readonly kind: 'asking'
  readonly questions: Readonly<Record<string, Question>>
  /** Handed to the client sealed, and back to the repeated call as `call.state`. */
  readonly state?: Json
}

export interface Failed {
  readonly kind: 'failed'
  readonly failure: Failure
  /** Content that could be produced despite the failure. */
  readonly content?: readonly Content[]
  readonly notices?: readonly Notice[]
  /** Id of the call that produced this result, when it is replayed. */
  readonly callId?: string
}

/**
 * A successful outcome with structured data.
 *
 * @example
 * ```ts
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
