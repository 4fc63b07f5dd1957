import { type FailureTable, failureSet } from '../capability/failure.ts'

/** Why governance ends a call, and who can put it right. */
export const governanceFailures = {
  insufficient_scope: 'client',
  invalid_input: 'model',
  timed_out: 'model',
  cancelled: 'model',
  result_too_large: 'model',
  invalid_output: 'operator',
  internal: 'operator',
} as const satisfies FailureTable

export const refused = failureSet(governanceFailures)
