import type { Json, JsonObject } from './json.ts'
import type { Failed } from './outcome.ts'

/** Who can put a failure right decides whom it is told. */
export type FixedBy = 'model' | 'client' | 'operator'

/** What went wrong with one call. */
export interface Failure {
  readonly code: string
  readonly fixedBy: FixedBy
  /** For the one who can fix it: what is wrong, and what to do next. */
  readonly message: string
  readonly details?: JsonObject
  readonly retryable: boolean
  /** For the log only, in words; never leaves the process. */
  readonly cause?: string
}

/** The closed set of failures a folder owns. */
export type FailureTable = Readonly<Record<string, FixedBy>>

export interface FailureOptions {
  readonly details?: Readonly<Record<string, Json | undefined>>
  readonly retryable?: boolean
  readonly cause?: string
}

/** Makes a folder's failures: a code that is not in the table does not compile. */
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
