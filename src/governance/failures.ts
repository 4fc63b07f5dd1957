import { type FailureTable, failureSet } from '../capability/failure.ts'

/** Reasons why governance refuses a call, by who can fix them. */
export const governanceFailures = {
  insufficient_scope: 'client',
  definition_changed: 'model',
  invalid_input: 'model',
  rate_limited: 'model',
  idempotency_key_required: 'model',
  idempotency_conflict: 'model',
  in_progress: 'model',
  outcome_unknown: 'model',
  possible_duplicate: 'model',
  budget_exceeded: 'model',
  approval_required: 'model',
  approval_denied: 'model',
  approval_expired: 'model',
  approval_void: 'model',
  timed_out: 'model',
  cancelled: 'model',
  result_too_large: 'model',
  ledger_checking: 'model',
  ledger_unavailable: 'operator',
  clock_uncertain: 'operator',
  ledger_damaged: 'operator',
  invalid_output: 'operator',
  internal: 'operator',
} as const satisfies FailureTable

export const refused = failureSet(governanceFailures)
