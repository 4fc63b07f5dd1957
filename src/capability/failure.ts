import type { Json, JsonObject } from './json.ts'
import type { Failed } from './outcome.ts'

/** The party that can fix a failure; it decides how the failure is reported. */
export type FixedBy = 'model' | 'client' | 'operator'

/** The reason why one call failed. */
export interface Failure {
  readonly code: string
  readonly fixedBy: FixedBy
  /** Addressed to the party that can fix it: what is wrong, and what to do next. */
  readonly message: string
  readonly details?: JsonObject
  readonly retryable: boolean
  /** Technical cause for the log; never leaves the process. */
  readonly cause?: string
}

/** A closed set of failure codes; each folder owns one. */
export type FailureTable = Readonly<Record<string, FixedBy>>

export interface FailureOptions {
  /** Machine-readable details, sent with the failure. */
  readonly details?: Readonly<Record<string, Json | undefined>>
  /** Whether the same call may succeed later; `false` by default. */
  readonly retryable?: boolean
  /** Technical cause for the log; never sent. */
  readonly cause?: string
}

/**
 * Creates the constructor for a closed set of failures. A code that is not in the table does not
 * compile.
 *
 * @example
 * ```ts
 * const refused = failureSet({ unknown_city: 'model', forecast_down: 'operator' })
 *
 * const outcome = refused('unknown_city', 'Unknown city "Atlantis". Use a city from list_cities.')
 * ```
 */
export const failureSet =
  <Table extends FailureTable>(table: Table) =>
  (code: keyof Table & string, message: string, options: FailureOptions = {}): Failed => ({
    kind: 'failed',
    failure: {
      code,
      fixedBy: table[code] as FixedBy,
      message,
      retryable: options.retryable ?? false,
      ...(options.details && { details: options.details }),
      ...(options.cause !== undefined && { cause: options.cause }),
    },
  })
