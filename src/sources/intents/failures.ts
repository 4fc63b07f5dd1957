import { type FailureTable, failureSet } from '../../capability/failure.ts'
import type { ErrorCode } from './envelope/error-codes.ts'

/** The codes of the agents as they are, and who can put each right. */
const codes = {
  VALIDATION_ERROR: 'model',
  AGENT_ERROR: 'model',
  ROUTING_ERROR: 'model',
  CAPABILITY_NOT_FOUND: 'model',
  AGENT_TIMEOUT: 'model',
  AGENT_UNAVAILABLE: 'model',
  PROTOCOL_ERROR: 'operator',
  TRANSPORT_ERROR: 'model',
  UNAUTHORIZED: 'model',
  RATE_LIMIT: 'model',
  INTERNAL_AGENT_ERROR: 'operator',
  PAYLOAD_TOO_LARGE: 'model',
  WORKFLOW_ABORTED: 'model',
  EMCL_FAILURE: 'operator',
} as const satisfies FailureTable & Readonly<Record<ErrorCode, string>>

export const intentFailures = {
  ...codes,
  /** It may have taken effect: nobody else was asked. */
  outcome_unknown: 'model',
  /** What cannot be written down is not done. */
  log_unavailable: 'operator',
} as const satisfies FailureTable

export const routingFailed = failureSet(intentFailures)
