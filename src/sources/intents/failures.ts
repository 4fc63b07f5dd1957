import { type FailureTable, failureSet } from '../../capability/failure.ts'
import type { ErrorCode } from './envelope/error-codes.ts'

/** The protocol's error codes, and who can fix each. */
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
  /** The call may have taken effect, so no other agent was asked. */
  outcome_unknown: 'model',
  /** The policy does not allow a connection to the agent. */
  egress_refused: 'operator',
  /** The execution log cannot be written, so a call with effects was not carried out. */
  log_unavailable: 'operator',
} as const satisfies FailureTable

export const routingFailed = failureSet(intentFailures)
