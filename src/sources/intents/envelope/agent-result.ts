import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../../capability/json.ts'
import { removeStack } from '../../../capability/remove-stack.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { type Certainty, type ErrorCode, errorCodes, toErrorCode } from './error-codes.ts'
import { frozenCopy } from './frozen-copy.ts'
import { type AgentResponse, type ErrorInfo, toErrorInfo } from './response.ts'
import { wireVersion } from './wire-version.ts'

/**
 * The result of asking one agent once. This one type travels from the agent through the attempt
 * and the strategy to the response.
 */
export type AgentResult = AgentSuccess | AgentFailure

export interface AgentSuccess {
  readonly payload: JsonObject
  /** The replica that answered, where the agent has several. */
  readonly instance?: string
}

export interface AgentFailure {
  readonly error: ErrorInfo
  readonly certainty: Certainty
  /** Overrides what the error code says about asking another agent. */
  readonly failover?: boolean
  readonly instance?: string
  /** Internal reason: written to the log, never part of a response. */
  readonly cause?: string
}

type FailureFields = {
  readonly [Key in keyof Omit<AgentFailure, 'error'>]?: AgentFailure[Key] | undefined
}

/** The certainty is that of the error code unless `fields` has another one. */
export const toAgentFailure = (error: ErrorInfo, fields: FailureFields = {}): AgentFailure => ({
  error,
  certainty: errorCodes[error.code].certainty,
  ...dropUndefined(fields),
})

/**
 * A failure that an agent reports itself. With a code for a failed request, its message and details
 * are written for the model. With a code for a breakdown they are the text of an exception: they are
 * the cause in the log, and the model gets the kind of failure only.
 */
export function toReportedFailure(
  agent: string,
  error: ErrorInfo,
  fields: FailureFields = {},
): AgentFailure {
  const { code, message, retryable, details } = error
  const breakdown = breakdowns[code]
  const { reason } = details
  const shown = breakdown
    ? toErrorInfo(code, `${agent} ${breakdown}.`, {
        retryable,
        details: typeof reason === 'string' && /^[a-z_]{1,40}$/.test(reason) ? { reason } : {},
      })
    : { ...error, message: removeStack(message) || 'no message', details: withoutStacks(details) }
  const isComplete = shown.message === message && isDeepStrictEqual(shown.details, details)
  return toAgentFailure(shown, {
    ...fields,
    cause: isComplete ? undefined : `${message} ${JSON.stringify(details)}`,
  })
}

/** The codes that do not say what was done; `errorCodes` gives them the certainty `unknown`. */
const breakdowns: Readonly<Partial<Record<ErrorCode, string>>> = {
  AGENT_TIMEOUT: 'reported a timeout',
  PROTOCOL_ERROR: 'reported a violation of the protocol',
  TRANSPORT_ERROR: 'reported a lost connection',
  INTERNAL_AGENT_ERROR: 'reported an internal error',
  EMCL_FAILURE: 'could not authenticate a message',
}

const withoutStacks = (details: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(details).filter(
      ([key]) => !/^(stack|stack_?trace|traceback|exception)$/i.test(key),
    ),
  )

/** The one test for a failed agent, also for values that are either a failure or something else. */
export const isAgentFailure = (value: object): value is AgentFailure => 'error' in value

export const toResponse = (
  result: AgentResult,
  metadata: AgentResponse['metadata'],
): AgentResponse =>
  isAgentFailure(result)
    ? { version: wireVersion, status: 'error', payload: null, metadata, error: result.error }
    : { version: wireVersion, status: 'success', payload: result.payload, metadata, error: null }

/**
 * Reads the response of another runtime; `undefined` when it is not one. A response without an
 * error is a success whatever its `status` says: some runtimes write `ok`.
 */
export function readResponse(agent: string, value: unknown): AgentResult | undefined {
  if (!isPlainObject(value) || !('payload' in value || 'error' in value)) return undefined
  const { payload, error } = value
  if (error !== null && error !== undefined) return toReportedFailure(agent, readError(error))
  if (payload !== null && payload !== undefined && !isPlainObject(payload)) return undefined
  return { payload: frozenCopy(payload ?? {}) as JsonObject }
}

const maxMessageLength = 2000

export function readError(value: unknown): ErrorInfo {
  const { code, message, retryable, details } = isPlainObject(value) ? value : {}
  return {
    code: toErrorCode(code),
    message: typeof message === 'string' ? message.slice(0, maxMessageLength) : 'no message',
    retryable: retryable === true,
    details: readDetails(details),
  }
}

/** Details that are not JSON are dropped: the error itself matters more. */
function readDetails(value: unknown): JsonObject {
  try {
    return isPlainObject(value) ? (frozenCopy(value) as JsonObject) : {}
  } catch {
    return {}
  }
}
