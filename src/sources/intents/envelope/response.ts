import type { JsonObject } from '../../../capability/json.ts'
import type { ErrorCode } from './error-codes.ts'

/** The single response to one {@link IntentEnvelope}, with the field names of the wire format. */
export interface AgentResponse {
  /** Version of the wire format: `1.0`. */
  readonly version: string
  /** `error` when no agent could serve the request. */
  readonly status: 'success' | 'error'
  /** The agent's data; `null` when `status` is `error`. */
  readonly payload: JsonObject | null
  /** Origin and time of the response. */
  readonly metadata: {
    /** Name of the agent that answered; `router` when no agent did, `broadcast` for a broadcast. */
    readonly agent: string
    /** Trace id of the request. */
    readonly traceId: string
    /** Time of the response, ISO 8601. */
    readonly timestamp: string
  }
  /** Why it failed; `null` when `status` is `success`. */
  readonly error: ErrorInfo | null
}

/** An error in the wire format. */
export interface ErrorInfo {
  /** Code of the protocol; decides whether another agent may be asked. */
  readonly code: ErrorCode
  /** Shown to the model, except with a code for a breakdown. */
  readonly message: string
  /** A repetition may succeed later or at another agent. */
  readonly retryable: boolean
  /** Machine-readable details; empty if there are none. */
  readonly details: JsonObject
}

export const toErrorInfo = (
  code: ErrorCode,
  message: string,
  { retryable = false, details = {} }: Partial<Pick<ErrorInfo, 'retryable' | 'details'>> = {},
): ErrorInfo => ({ code, message, retryable, details })
