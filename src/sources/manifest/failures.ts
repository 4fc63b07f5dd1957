import { type FailureTable, failureSet } from '../../capability/failure.ts'

/** What can go wrong on the way to an agent, and who can put it right. */
const manifestFailures = {
  outcome_unknown: 'model',
  credential_missing: 'operator',
  step_failed: 'model',
} as const satisfies FailureTable

export const agentFailed = failureSet(manifestFailures)
