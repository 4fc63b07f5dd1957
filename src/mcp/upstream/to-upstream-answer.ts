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
  upstreamBusy,
  upstreamFailed,
  upstreamInvalid,
  upstreamRefused,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../upstream/failures.ts'
import type { Reached, UpstreamAnswer } from '../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../upstream/upstream-text.ts'
import { codes } from '../rpc-error.ts'
import type { UpstreamExchange } from './upstream-exchange.ts'

/** What came of a call on a link, and what that means for the link. */
export interface LinkAnswer extends UpstreamAnswer {
  readonly link: 'sound' | 'broken' | 'expired'
}

export function toCallAnswer(result: CallToolResult): LinkAnswer {
  const { isError, structuredContent: data } = result
  const content = result.content as readonly Content[]
  const outcome = isError
    ? { ...toToolError(content, data as Json | undefined), content }
    : ({ kind: 'done', content, ...(data !== undefined && { data }) } as const)
  return { outcome, reached: 'yes', link: 'sound' }
}

function toToolError(content: readonly Content[], data: Json | undefined): Failed {
  const words = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const message = quoteUpstreamText(words.join(' ')) || 'The agent says that this failed.'
  return upstreamFailed('upstream_tool_error', message, {
    ...(data !== undefined && { details: { data } }),
  })
}

/** Nothing of a call was sent yet, so there is nothing in it for who calls to put right. */
export function toConnectFailure(error: unknown, exchange: UpstreamExchange): Failed {
  const { outcome } = toTrouble(error, exchange, false)
  return outcome.kind === 'failed' && alsoBefore.has(outcome.failure.code)
    ? outcome
    : upstreamInvalid(toWords(exchange.fault?.failure.message ?? error))
}

const alsoBefore = new Set([
  'upstream_unavailable',
  'upstream_credentials',
  'upstream_busy',
  'upstream_stopped',
])

export function toTrouble(
  error: unknown,
  exchange: UpstreamExchange,
  hadSession: boolean,
): LinkAnswer {
  const { fault, sent, status } = exchange
  if (fault)
    return {
      outcome: fault,
      reached: sent ? 'maybe' : 'no',
      link: fault.failure.fixedBy === 'operator' ? 'broken' : 'sound',
    }
  if (!sent) return { outcome: upstreamUnavailable(toWords(error)), reached: 'no', link: 'broken' }
  if (error instanceof ProtocolError) return toRpcTrouble(error)
  if (status !== undefined && (status < 200 || status > 299))
    return toHttpTrouble(status, toWords(error), exchange, hadSession)
  if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType)
    return { outcome: asks(), reached: 'yes', link: 'sound' }
  return toNetworkTrouble(error, status)
}

function toNetworkTrouble(error: unknown, status: number | undefined): LinkAnswer {
  const code = findCode(error)
  const reached = beforeSending.has(code) ? 'no' : 'maybe'
  // Answered, and no connection broke: it is what was said that cannot be understood.
  const understood = status === undefined || code !== ''
  const outcome =
    understood && !garbled.test(code)
      ? upstreamUnavailable(toWords(error))
      : upstreamInvalid(toWords(error))
  return { outcome, reached, link: 'broken' }
}

/** By code: who can do something about it, and whether the agent got to work at all. */
function toRpcTrouble({ code, message }: ProtocolError): LinkAnswer {
  if (questions.has(code)) return { outcome: asks(), reached: 'yes', link: 'sound' }
  const said = quoteUpstreamText(message) || `The agent refused this with ${code}.`
  const toldReason = code === codes.invalidParams || code < -32768 || code > -32000
  if (toldReason) return { outcome: upstreamRefused(said), reached: 'yes', link: 'sound' }
  const cause = `${code} ${said}`
  if (misunderstandings.has(code))
    return { outcome: upstreamInvalid(cause), reached: 'yes', link: 'broken' }
  return { outcome: upstreamUnavailable(cause), reached: 'maybe', link: 'sound' }
}

/** It would ask, and knows that we cannot be asked; the second is how 2025 asks to open a page. */
const questions = new Set<number>([codes.missingClientCapability, -32042])

const misunderstandings = new Set<number>([
  codes.parse,
  codes.methodNotFound,
  codes.headerMismatch,
  codes.unsupportedVersion,
])

function toHttpTrouble(
  status: number,
  cause: string,
  { retryAfter: wait }: UpstreamExchange,
  hadSession: boolean,
): LinkAnswer {
  const reached: Reached = status >= 500 ? 'maybe' : 'yes'
  if (status === 401 || status === 403)
    return { outcome: upstreamUnauthorized(cause), reached, link: 'broken' }
  if (status === 429) return { outcome: upstreamBusy(wait), reached, link: 'sound' }
  if (status >= 500) return { outcome: upstreamUnavailable(cause, wait), reached, link: 'broken' }
  // The protocol's way to say that a session is over, and that nothing was done.
  const link = status === 404 && hadSession ? 'expired' : 'broken'
  return { outcome: upstreamInvalid(cause), reached, link }
}

const asks = () =>
  upstreamFailed(
    'upstream_asks',
    'The agent wants to ask something before it goes on, and questions are not passed on. Give it all it needs in the arguments.',
  )

/** Errors before the first byte of a request. */
const beforeSending = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

const garbled = /^HPE_|^UND_ERR_HEADERS_OVERFLOW$/

/** The system's word for what happened lies somewhere below what `fetch` throws. */
function findCode(error: unknown): string {
  let at = error
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    if ('code' in at && typeof at.code === 'string' && !(at instanceof SdkError)) return at.code
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return ''
}

/** The address that refused, and the like, stand at the very bottom. */
function toWords(error: unknown): string {
  const words: string[] = []
  let at = error
  for (let depth = 0; depth < 5 && at !== undefined; depth++) {
    words.push(String(at))
    if (!(at instanceof Error)) break
    at = at instanceof AggregateError ? at.errors[0] : at.cause
  }
  return quoteUpstreamText(words.join(': '))
}
