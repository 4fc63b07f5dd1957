import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import type { HttpReply } from '../../mcp/http-port.ts'
import type { ReadFailureCode } from '../../sources/records/failures.ts'
import { refusalMessages, type TokenRefusal } from '../../sources/records/grants/token-refusal.ts'
import type { Arrival } from '../handler.ts'
import { refusalStatus, toChallenge, toOrigin } from './grant-callers.ts'

/** The generation of the contract that is spoken. */
export const version = '2026-04-06'

/** How one request is answered. */
export interface Answerer {
  readonly send: (status: number, body: object) => void
  readonly bytes: (bytes: Uint8Array, headers: Readonly<Record<string, string>>) => void
  readonly fail: (status: number, code: string, message: string, more?: JsonObject) => void
  readonly refuse: (refusal: TokenRefusal) => void
  /** These methods, and no other, mean something there. */
  readonly refuseMethod: (allowed: readonly string[]) => void
  readonly outcome: (outcome: Outcome) => void
}

export function createAnswerer(
  { headers, path }: Arrival,
  reply: HttpReply,
  request: string,
): Answerer {
  const common = { 'request-id': request, 'pdpp-version': version }
  const send = (status: number, body: object, more: Record<string, string> = {}) =>
    reply.answer(status, JSON.stringify(body), { ...common, ...more })
  const toError = (status: number, code: string, message: string, more: JsonObject) => ({
    type: types[status] ?? 'api_error',
    code,
    message,
    request_id: request,
    ...more,
  })
  const fail: Answerer['fail'] = (status, code, message, more = {}) => {
    const error = toError(status, code, message, more)
    if (status !== 401) return send(status, { error }, toRetryAfter(more))
    const resource_metadata = `${toOrigin(headers)}/.well-known/oauth-protected-resource`
    const next_step = 'Ask the owner for a grant: "drawbridge grants create" gives out its token.'
    return send(
      401,
      { error: { ...error, resource_metadata, next_step } },
      toChallenge(headers, path),
    )
  }
  return {
    send,
    fail,
    bytes: (bytes, more) =>
      reply.answer(200, [bytes], {
        ...common,
        'content-length': String(bytes.length),
        'cache-control': 'private, no-store',
        // Nothing that somebody once sent is run by a browser that shows it.
        'x-content-type-options': 'nosniff',
        'content-disposition': 'attachment',
        ...more,
      }),
    refuse: (refusal) => fail(...refusalStatus[refusal], refusalMessages[refusal]),
    refuseMethod(allowed) {
      const allow = allowed.join(', ')
      const error = toError(405, 'invalid_request', `Only ${allow} means something here.`, {})
      send(405, { error }, { allow })
    },
    outcome(outcome) {
      switch (outcome.kind) {
        case 'done':
          return send(200, isPlainObject(outcome.data) ? outcome.data : {})
        case 'asking':
          return fail(403, 'approval_required', 'This needs an approval, and cannot ask for one.')
        case 'failed':
          return failWith(outcome, fail)
      }
    },
  }
}

function failWith({ failure }: Failed, fail: Answerer['fail']): void {
  const { code, message, details, fixedBy } = failure
  if (fixedBy === 'operator') return fail(500, 'api_error', 'Something is out of order here.')
  const [status, name] = statuses[code as ReadFailureCode] ?? governed[code] ?? [400, code]
  return fail(status, name, message, details)
}

const toRetryAfter = ({ retry_after_ms }: JsonObject): Record<string, string> =>
  typeof retry_after_ms === 'number'
    ? { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) }
    : {}

/** By failure: its status, and what the contract calls it. */
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
  grant_missing: [401, 'authentication_error'],
  grant_revoked: [403, 'grant_revoked'],
  grant_expired: [403, 'grant_expired'],
}

/** The same for what policy may say. */
const governed: Readonly<Record<string, readonly [number, string]>> = {
  rate_limited: [429, 'rate_limit_exceeded'],
  budget_exceeded: [429, 'rate_limit_exceeded'],
  insufficient_scope: [403, 'insufficient_scope'],
  approval_required: [403, 'approval_required'],
  result_too_large: [413, 'result_too_large'],
}

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
