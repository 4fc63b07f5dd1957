import type { Json, JsonObject } from './json.ts'
import type { Failed } from './outcome.ts'

/** The party that can fix a failure; it decides how the failure is reported. */
export type FixedBy = 'model' | 'client' | 'operator'

/** The reason why one call failed. */
export interface Failure {
  /** Stable, in snake_case, such as `unknown_city`. */
  readonly code: string
  /**
   * `model`: the message is the result. `client`: the message is a JSON-RPC error. `operator`: the
   * caller gets a neutral message, and the cause is logged.
   */
  readonly fixedBy: FixedBy
  /** Addressed to the party that can fix it: what is wrong, and what to do next. */
  readonly message: string
  /** Machine-readable details, sent with the failure. */
  readonly details?: JsonObject
  /** `true` if the same call may succeed later. */
  readonly retryable: boolean
  /** Technical cause for the log; never leaves the process. */
  readonly cause?: string
  /** Next step for the operator, added to the neutral message: a command, without paths or causes. */
  readonly advice?: string
}

/** A closed set of failure codes, each with the party that can fix it. */
export type FailureTable = Readonly<Record<string, FixedBy>>

/** Optional parts of a failure. */
export interface FailureOptions {
  /** Machine-readable details, sent with the failure. */
  readonly details?: Readonly<Record<string, Json | undefined>>
  /** `true` if the same call may succeed later. Default: `false`. */
  readonly retryable?: boolean
  /** Technical cause for the log; never sent. */
  readonly cause?: string
  /** Next step for the operator, which the caller may read. */
  readonly advice?: string
}

/**
 * Creates the constructor for a closed set of failures. A code that is not in the table does not
 * compile.
 *
 * @example
 * ```ts
 * import { failureSet } from 'drawbridge-mcp'
 *
 * const fail = failureSet({ unknown_city: 'model', forecast_down: 'operator' })
 * const outcome = fail('unknown_city', 'Unknown city "Atlantis". Use a city from list_cities.')
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
      ...(options.advice !== undefined && { advice: options.advice }),
    },
  })
