import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import { wireVersion } from './envelope.ts'
import { type ErrorCode, toErrorCode } from './error-codes.ts'
import { frozenCopy } from './frozen-copy.ts'

/** The one answer to one envelope, with the names it has on the wire. */
export interface AgentResponse {
  readonly version: string
  readonly status: 'success' | 'error'
  readonly payload: JsonObject | null
  readonly metadata: {
    readonly agent: string
    readonly traceId: string
    readonly timestamp: string
  }
  readonly error: ErrorInfo | null
}

export interface ErrorInfo {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
  readonly details: JsonObject
}

export const toErrorInfo = (
  code: ErrorCode,
  message: string,
  { retryable = false, details = {} }: Partial<Pick<ErrorInfo, 'retryable' | 'details'>> = {},
): ErrorInfo => ({ code, message, retryable, details })

/** What an agent says in the end. */
export type AgentResult = { readonly payload: JsonObject } | { readonly error: ErrorInfo }

export const toResponse = (
  said: AgentResult,
  metadata: AgentResponse['metadata'],
): AgentResponse =>
  'payload' in said
    ? { version: wireVersion, status: 'success', payload: said.payload, metadata, error: null }
    : { version: wireVersion, status: 'error', payload: null, metadata, error: said.error }

/**
 * Reads what another runtime answered. No error means success, whatever its status is called:
 * there are runtimes that write `ok`.
 */
export function readResponse(value: unknown): AgentResult | undefined {
  if (!isPlainObject(value) || !('payload' in value || 'error' in value)) return undefined
  const { payload, error } = value
  if (error !== null && error !== undefined) return { error: readError(error) }
  if (payload !== null && payload !== undefined && !isPlainObject(payload)) return undefined
  return { payload: frozenCopy(payload ?? {}) as JsonObject }
}

const longestMessage = 2000

export function readError(value: unknown): ErrorInfo {
  const { code, message, retryable, details } = isPlainObject(value) ? value : {}
  return {
    code: toErrorCode(code),
    message: typeof message === 'string' ? message.slice(0, longestMessage) : 'no message',
    retryable: retryable === true,
    details: readDetails(details),
  }
}

/** What cannot be carried is left out: the error counts, not what is said about it. */
function readDetails(value: unknown): JsonObject {
  try {
    return isPlainObject(value) ? (frozenCopy(value) as JsonObject) : {}
  } catch {
    return {}
  }
}
