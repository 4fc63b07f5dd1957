import type { JsonObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { ReadFailureCode } from '../../sources/records/failures.ts'
import { refusalMessages, type TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { Arrival } from '../arrival.ts'
import { refusalStatus, toChallenge, toOrigin } from './grant-callers.ts'

/** The supported version of the read contract. */
export const contractVersion = '2026-04-06'

/** Answers one REST request in the format of the read contract. */
export interface RecordsReply {
  readonly send: (status: number, body: object) => void
  readonly sendBytes: (bytes: Uint8Array, headers: Readonly<Record<string, string>>) => void
  readonly sendOutcome: (outcome: Outcome) => void
  readonly fail: (status: number, code: string, message: string, details?: JsonObject) => void
  readonly refuse: (refusal: TokenRefusal) => void
  /** Answers 405 with an `Allow` header. */
  readonly refuseMethod: (allowed: readonly string[]) => void
}

export function createRecordsReply(
  { headers, path }: Arrival,
  reply: HttpReply,
  requestId: string,
): RecordsReply {
  const commonHeaders = { 'request-id': requestId, 'pdpp-version': contractVersion }
  const send = (status: number, body: object, extraHeaders: Record<string, string> = {}) =>
    reply.answer(status, JSON.stringify(body), { ...commonHeaders, ...extraHeaders })
  const toError = (status: number, code: string, message: string, details: JsonObject) => ({
    type: types[status] ?? 'api_error',
    code,
    message,
    request_id: requestId,
    ...details,
  })
  const fail: RecordsReply['fail'] = (status, code, message, details = {}) => {
    const error = toError(status, code, message, details)
    if (status !== 401) return send(status, { error }, toRetryAfter(details))
    const resource_metadata = `${toOrigin(headers)}/.well-known/oauth-protected-resource`
    const next_step = 'Ask the owner for a grant: "drawbridge grants create" prints its token.'
    return send(
      401,
      { error: { ...error, resource_metadata, next_step } },
      toChallenge(headers, path),
    )
  }
  return {
    send,
    fail,
    sendBytes: (bytes, extraHeaders) =>
      reply.answer(200, [bytes], {
        ...commonHeaders,
        'content-length': String(bytes.length),
        'cache-control': 'private, no-store',
        // Stored XSS: a browser must download an imported file, not sniff its type and run it.
        'x-content-type-options': 'nosniff',
        'content-disposition': 'attachment',
        ...extraHeaders,
      }),
    refuse: (refusal) => fail(...refusalStatus[refusal], refusalMessages[refusal]),
    refuseMethod(allowed) {
      const allow = allowed.join(', ')
      const error = toError(405, 'invalid_request', `Only ${allow} is allowed here.`, {})
      send(405, { error }, { allow })
    },
    sendOutcome(outcome) {
      switch (outcome.kind) {
        case 'done':
          return send(200, isPlainObject(outcome.data) ? outcome.data : {})
        case 'asking':
          return fail(
            403,
            'approval_required',
            'This needs an approval, which REST requests cannot ask for.',
          )
        case 'failed':
          return failWith(outcome, fail)
      }
    },
  }
}

function failWith({ failure }: Failed, fail: RecordsReply['fail']): void {
  const { code, message, details, fixedBy } = failure
  if (fixedBy === 'operator')
    return fail(500, 'api_error', 'The server could not answer this request.')
  const [status, contractCode] = statuses[code as ReadFailureCode] ??
    policyStatuses[code] ?? [400, code]
  return fail(status, contractCode, message, details)
}

const toRetryAfter = ({ retry_after_ms }: JsonObject): Record<string, string> =>
  typeof retry_after_ms === 'number'
    ? { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) }
    : {}

/** HTTP status and contract code of each read failure. */
const statuses: Readonly<Record<ReadFailureCode, readonly [number, string]>> = {
  invalid_request: [400, 'invalid_request'],
  invalid_argument: [400, 'invalid_argument'],
  invalid_filter: [400, 'invalid_request'],
  invalid_sort: [400, 'invalid_sort'],
  invalid_expand: [400, 'invalid_expand'],
  invalid_cursor: [400, 'invalid_cursor'],
  cursor_expired: [410, 'cursor_expired'],
  unknown_field: [400, 'unknown_field'],
  unknown_stream: [403, 'grant_stream_not_allowed'],
  not_found: [404, 'not_found'],
  blob_not_found: [404, 'blob_not_found'],
  connection_not_found: [404, 'connection_not_found'],
  conflicting_connection_id: [400, 'invalid_argument'],
  ambiguous_connection: [409, 'ambiguous_connection'],
  ambiguous_schema_detail: [409, 'ambiguous_schema_detail'],
  timed_out: [503, 'timed_out'],
  owner_token_refused: [403, 'owner_token_refused'],
  remote_busy: [429, 'rate_limit_exceeded'],
  remote_unavailable: [502, 'api_error'],
  remote_refused: [502, 'api_error'],
  record_unreadable: [500, 'api_error'],
  grant_missing: [401, 'authentication_error'],
  grant_revoked: [403, 'grant_revoked'],
  grant_expired: [403, 'grant_expired'],
}

/** HTTP status and contract code of the failures that policy adds. */
const policyStatuses: Readonly<Record<string, readonly [number, string]>> = {
  rate_limited: [429, 'rate_limit_exceeded'],
  budget_exceeded: [429, 'rate_limit_exceeded'],
  insufficient_scope: [403, 'insufficient_scope'],
  approval_required: [403, 'approval_required'],
  result_too_large: [413, 'result_too_large'],
}

/** The contract's error type of each HTTP status. */
const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  410: 'gone_error',
  413: 'invalid_request_error',
  429: 'rate_limit_error',
}
