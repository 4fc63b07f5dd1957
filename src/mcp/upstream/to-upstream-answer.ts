import {
  type CallToolResult,
  ProtocolError,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client'
import type { Content } from '../../capability/content.ts'
import type { Json } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import {
  mayHaveActed,
  upstreamBusy,
  upstreamFailed,
  upstreamInvalid,
  upstreamRedirected,
  upstreamRefused,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../upstream/failures.ts'
import type { Reached, UpstreamAnswer } from '../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../upstream/upstream-text.ts'
import { codes } from '../rpc-error.ts'
import type { UpstreamExchange } from './upstream-exchange.ts'

/** The answer to a call, and the state of the connection after it. */
export interface LinkAnswer extends UpstreamAnswer {
  readonly link: 'usable' | 'broken' | 'expired'
}

export function toCallAnswer(result: CallToolResult): LinkAnswer {
  const { isError, structuredContent: data } = result
  const content = result.content as readonly Content[]
  const outcome = isError
    ? { ...toToolError(content, data as Json | undefined), content }
    : ({ kind: 'done', content, ...(data !== undefined && { data }) } as const)
  return { outcome, reached: 'yes', link: 'usable' }
}

function toToolError(content: readonly Content[], data: Json | undefined): Failed {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const message =
    quoteUpstreamText(texts.join(' ')) || 'The agent reported an error without details.'
  return upstreamFailed(
    'upstream_tool_error',
    message,
    data === undefined ? {} : { details: { data } },
  )
}

/** A failed connection is never the caller's fault: the call itself has not been sent yet. */
export function toConnectFailure(error: unknown, exchange: UpstreamExchange): Failed {
  const { outcome } = toLinkFailure(error, exchange, false)
  return outcome.kind === 'failed' && connectFailureCodes.has(outcome.failure.code)
    ? outcome
    : upstreamInvalid(toCauseText(exchange.fault?.failure.message ?? error))
}

const connectFailureCodes = new Set([
  'upstream_unavailable',
  'upstream_credentials',
  'upstream_busy',
  'upstream_stopped',
  'upstream_redirected',
  'egress_refused',
])

export function toLinkFailure(
  error: unknown,
  exchange: UpstreamExchange,
  hadSession: boolean,
): LinkAnswer {
  const { fault, isSent, status } = exchange
  if (fault)
    return {
      outcome: fault,
      reached: isSent ? 'maybe' : 'no',
      link: fault.failure.fixedBy === 'operator' ? 'broken' : 'usable',
    }
  if (!isSent)
    return { outcome: upstreamUnavailable(toCauseText(error)), reached: 'no', link: 'broken' }
  if (error instanceof ProtocolError) return toRpcFailure(error)
  if (status !== undefined && (status < 200 || status > 299))
    return toHttpFailure(status, toCauseText(error), exchange, hadSession)
  if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType)
    return { outcome: needsInput(), reached: 'yes', link: 'usable' }
  return toNetworkFailure(error, status)
}

function toNetworkFailure(error: unknown, status: number | undefined): LinkAnswer {
  const code = findCode(error)
  const reached = beforeSending.has(code) ? 'no' : 'maybe'
  // A response without a network error code: the connection works, but the content is invalid.
  const isNetworkError = status === undefined || code !== ''
  const outcome =
    isNetworkError && !malformedHttp.test(code)
      ? upstreamUnavailable(toCauseText(error))
      : upstreamInvalid(toCauseText(error))
  return { outcome, reached, link: 'broken' }
}

/** Maps a JSON-RPC code to a failure, and to whether the agent may have run the call. */
function toRpcFailure({ code, message }: ProtocolError): LinkAnswer {
  if (inputRequestCodes.has(code)) return { outcome: needsInput(), reached: 'yes', link: 'usable' }
  const text = quoteUpstreamText(message) || `The agent refused the call with code ${code}.`
  const isForCaller = code === codes.invalidParams || code < -32768 || code > -32000
  if (isForCaller) return { outcome: upstreamRefused(text), reached: 'yes', link: 'usable' }
  const cause = `${code} ${text}`
  if (protocolErrorCodes.has(code))
    return { outcome: upstreamInvalid(cause), reached: 'yes', link: 'broken' }
  return { outcome: upstreamUnavailable(cause), reached: 'maybe', link: 'usable' }
}

/** The agent needs input from the user; -32042 is 2025's URL elicitation. */
const inputRequestCodes = new Set<number>([codes.missingClientCapability, -32042])

const protocolErrorCodes = new Set<number>([
  codes.parse,
  codes.methodNotFound,
  codes.headerMismatch,
  codes.unsupportedVersion,
])

function toHttpFailure(
  status: number,
  cause: string,
  { retryAfter, location }: UpstreamExchange,
  hadSession: boolean,
): LinkAnswer {
  const reached: Reached = status >= 500 ? 'maybe' : 'yes'
  if (status >= 300 && status < 400)
    return {
      outcome: upstreamRedirected(status, location),
      reached: mayHaveActed(status) ? 'maybe' : 'yes',
      link: 'broken',
    }
  if (status === 401 || status === 403)
    return { outcome: upstreamUnauthorized(cause), reached, link: 'broken' }
  if (status === 429) return { outcome: upstreamBusy(retryAfter), reached, link: 'usable' }
  if (status >= 500)
    return { outcome: upstreamUnavailable(cause, retryAfter), reached, link: 'broken' }
  // 404 within a session means that the session has expired and the call did not run.
  const link = status === 404 && hadSession ? 'expired' : 'broken'
  return { outcome: upstreamInvalid(cause), reached, link }
}

const needsInput = () =>
  upstreamFailed(
    'upstream_asks',
    'The agent needs more input, and its questions cannot be forwarded. Put everything it needs into the arguments.',
  )

/** Errors that occur before the first byte of a request is sent. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** Errors of Node's and undici's HTTP parsers. */
const malformedHttp = /^HPE_|^UND_ERR_HEADERS_OVERFLOW$/

/** The system error code, which is nested in the causes of what `fetch` throws. */
function findCode(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    if ('code' in at && typeof at.code === 'string' && !(at instanceof SdkError)) return at.code
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return ''
}

/** The messages of all causes: details such as the address are in the innermost one. */
function toCauseText(error: unknown): string {
  const messages: string[] = []
  let at = error
  for (let depth = 0; depth < 5 && at !== undefined; depth++) {
    messages.push(String(at))
    if (!(at instanceof Error)) break
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return quoteUpstreamText(messages.join(': '))
}
