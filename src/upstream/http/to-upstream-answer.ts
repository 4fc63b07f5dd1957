import type { IncomingHttpHeaders } from 'node:http'
import { text } from '../../capability/content.ts'
import { isFault } from '../../capability/fault.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { removeStack } from '../../capability/remove-stack.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { parseJson } from '../../json/parse-json.ts'
import {
  egressRefused,
  mayHaveActed,
  upstreamBusy,
  upstreamInvalid,
  upstreamRedirected,
  upstreamRefused,
  upstreamTooLarge,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../failures.ts'
import { toRetryAfter } from '../retry-after.ts'
import type { UpstreamAnswer } from '../upstream.ts'
import { quoteUpstreamText } from '../upstream-text.ts'
import type { HttpReply, SendFailure, SendResult } from './send.ts'

/** Maps the result of a request to an outcome, by HTTP status. */
export function toUpstreamAnswer(result: SendResult, maxBytes: number): UpstreamAnswer {
  if (isFault(result))
    return {
      outcome: toConnectionFailure(result, maxBytes),
      reached: result.wasSent ? 'maybe' : 'no',
    }
  const { status } = result
  if (status >= 200 && status < 300) {
    const outcome = toSuccess(result)
    return { outcome, reached: outcome.kind === 'done' ? 'yes' : 'maybe' }
  }
  if (status >= 300 && status < 400)
    return {
      outcome: upstreamRedirected(status, result.headers.location),
      reached: mayHaveActed(status) ? 'maybe' : 'yes',
    }
  // A 5xx response may come after the operation took effect.
  return { outcome: toRefusal(result), reached: status >= 500 ? 'maybe' : 'yes' }
}

/** No response, or one that cannot be used. */
export function toConnectionFailure({ fault, cause }: SendFailure, maxBytes: number): Outcome {
  switch (fault) {
    case 'egress_refused':
      return egressRefused(cause)
    case 'connection_lost':
      return upstreamUnavailable(cause)
    case 'malformed_http':
      return upstreamInvalid(cause)
    case 'too_large':
      return upstreamTooLarge(maxBytes)
  }
}

function toSuccess({ headers, body }: HttpReply): Outcome {
  if (body.length === 0) return { kind: 'done' }
  const type = toMediaType(headers)
  if (headers['content-encoding'] && headers['content-encoding'] !== 'identity')
    return upstreamInvalid(
      `The response has the unsupported content encoding ${headers['content-encoding']}.`,
    )
  const decodedBody = decodeText(body)
  if (decodedBody === undefined) return upstreamInvalid('The response is not valid UTF-8.')
  if (isJson(type) || type === '') {
    const data = parseJson(decodedBody)
    if (data !== undefined) return { kind: 'done', data }
    if (type !== '')
      return upstreamInvalid('The response is declared as JSON but is not valid JSON.')
  } else if (!type.startsWith('text/'))
    return upstreamInvalid(
      `The response has the media type ${type}, which is neither JSON nor text.`,
    )
  return { kind: 'done', content: [text(decodedBody)] }
}

function toRefusal(reply: HttpReply): Outcome {
  const { status, headers } = reply
  const message = toErrorMessage(reply)
  const cause = `HTTP ${status} ${quoteUpstreamText(reply.body.toString())}`.trim()
  const retryAfter = toRetryAfter(headers['retry-after'], headers.date)
  if (status === 401 || status === 403 || status === 407) return upstreamUnauthorized(cause)
  if (status === 429) return upstreamBusy(retryAfter)
  if (status >= 500) return upstreamUnavailable(cause, retryAfter)
  if (status >= 400)
    return upstreamRefused(
      message === '' ? `The agent rejected the request with HTTP ${status}.` : message,
    )
  return upstreamInvalid(cause)
}

/** The human-readable message of an error body: RFC 9457 `detail`, or a common alternative. */
export function toErrorMessage({ headers, body }: HttpReply): string {
  const type = toMediaType(headers)
  const content = body.toString()
  if (isJson(type)) return quoteUpstreamText(removeStack(findMessage(parseJson(content)) ?? ''))
  return type === 'text/plain' ? quoteUpstreamText(removeStack(content)) : ''
}

/** Messages are near the root; a body can be nested deeper than the stack allows. */
const maxMessageDepth = 10

function findMessage(data: unknown, levels = maxMessageDepth): string | undefined {
  if (typeof data === 'string') return data
  if (!isPlainObject(data) || levels === 0) return undefined
  for (const key of ['message', 'detail', 'error', 'title', 'error_description']) {
    const message = findMessage(data[key], levels - 1)
    if (message !== undefined && message !== '') return message
  }
  return undefined
}

export const toMediaType = (headers: IncomingHttpHeaders): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

export const isJson = (type: string): boolean =>
  type === 'application/json' || type.endsWith('+json')

/** The text of a body, unless it is not valid UTF-8. */
export function decodeText(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}
