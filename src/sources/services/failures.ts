import { type FailureTable, failureSet } from '../../capability/failure.ts'

export const serviceFailures = {
  /** The service returned an error message; it is passed on verbatim. */
  action_error: 'model',
  /** The action is no longer available; nothing was run. For `visibility: dynamic`. */
  action_withdrawn: 'model',
  /** The action exists but is not available at the moment; nothing was run. For `visibility: stable`. */
  unavailable_now: 'model',
  unknown_state: 'model',
} as const satisfies FailureTable

export const serviceFailed = failureSet(serviceFailures)
