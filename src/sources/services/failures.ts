import { type FailureTable, failureSet } from '../../capability/failure.ts'

export const serviceFailures = {
  /** The service said so, in its own words. */
  action_error: 'model',
  /** It was offered, and is not any more; nothing was run. */
  action_withdrawn: 'model',
  /** It is part of the service, but not at this moment; nothing was run. */
  unavailable_now: 'model',
  unknown_state: 'model',
} as const satisfies FailureTable

export const serviceFailed = failureSet(serviceFailures)
