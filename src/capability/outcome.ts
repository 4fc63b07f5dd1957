import type { Notice } from './call.ts'
import type { Content } from './content.ts'
import type { Failure } from './failure.ts'
import type { Json } from './json.ts'
import type { Question } from './question.ts'

/** How a call ended. */
export type Outcome = Done | Asking | Failed

export interface Done {
  readonly kind: 'done'
  /** The answer as data. */
  readonly data?: unknown
  /** The answer as a reader sees it; made from `data` where absent. */
  readonly content?: readonly Content[]
  /** When the data was true at its origin, ISO 8601. */
  readonly fetchedAt?: string
  /** What it really cost, where that is known. */
  readonly cost?: number
  readonly notices?: readonly Notice[]
  /** The call whose answer this is, where it is not this one. */
  readonly callId?: string
}

/** Cannot go on without an answer; the same call is made again with it. */
export interface Asking {
  readonly kind: 'asking'
  readonly questions: Readonly<Record<string, Question>>
  /** Comes back, sealed, with the answers. */
  readonly state?: Json
}

export interface Failed {
  readonly kind: 'failed'
  readonly failure: Failure
  /** What could be said all the same. */
  readonly content?: readonly Content[]
  readonly notices?: readonly Notice[]
  readonly callId?: string
}

export const done = (data: unknown): Done => ({ kind: 'done', data })

/** The one test for a failed outcome, also for values that are either a `Failed` or something else. */
export const isFailed = (value: object): value is Failed =>
  'kind' in value && value.kind === 'failed' && 'failure' in value
