import { type Content, text } from '../../capability/content.ts'
import { isFault } from '../../capability/fault.ts'
import type { Done, Outcome } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isDeeper, maxDepth } from '../../json/is-deeper.ts'
import { parseJson } from '../../json/parse-json.ts'
import {
  mayHaveActed,
  upstreamBusy,
  upstreamFailed,
  upstreamInvalid,
  upstreamRedirected,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../upstream/failures.ts'
import type { HttpReply, SendResult } from '../../upstream/http/send.ts'
import {
  decodeText,
  isJson,
  toConnectionFailure,
  toErrorMessage,
  toMediaType,
} from '../../upstream/http/to-upstream-answer.ts'
import { toRetryAfter } from '../../upstream/retry-after.ts'
import type { UpstreamAnswer } from '../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../upstream/upstream-text.ts'
import type { Operation } from '../compile-operation.ts'
import { isTextMedia } from '../requests/media-types.ts'
import { toNextPage } from './next-page.ts'
import { findResponse } from './responses.ts'

export interface AnswerContext {
  readonly operation: Operation
  /** Without credentials. */
  readonly url: URL
  readonly input: unknown
  /** Is never proposed to be called again. */
  readonly writes: boolean
  readonly maxBytes: number
}

/** Maps a response to an outcome by its status, as the document describes it. Does not throw. */
export function toAnswer(result: SendResult, context: AnswerContext): UpstreamAnswer {
  try {
    return toUsualAnswer(result, context)
  } catch (error) {
    // The request was sent: whatever is wrong with the response, a write may have taken effect.
    const cause = `The response cannot be read: ${(error as Error).message}`
    return { outcome: upstreamInvalid(cause), reached: 'maybe' }
  }
}

function toUsualAnswer(result: SendResult, context: AnswerContext): UpstreamAnswer {
  if (isFault(result))
    return {
      outcome: toConnectionFailure(result, context.maxBytes),
      reached: result.wasSent ? 'maybe' : 'no',
    }
  const { status } = result
  if (status >= 200 && status < 300) {
    const outcome = toSuccess(result, context)
    return { outcome, reached: outcome.kind === 'done' ? 'yes' : 'maybe' }
  }
  if (status === 304 && !context.writes)
    return { outcome: toUnchanged(result, context), reached: 'yes' }
  if (status >= 300 && status < 400 && isDeclaredRedirect(status, context.operation))
    return { outcome: toRedirectAnswer(result, context), reached: 'yes' }
  if (status >= 300 && status < 400)
    return {
      outcome: upstreamRedirected(status, result.headers.location),
      reached: mayHaveActed(status) ? 'maybe' : 'yes',
    }
  // A 5xx response may come after the operation took effect.
  return { outcome: toRefusal(result, context), reached: status >= 500 ? 'maybe' : 'yes' }
}

/** A redirect that the document declares is an answer; `default` does not declare one. */
const isDeclaredRedirect = (status: number, { responses }: Operation): boolean =>
  responses.has(String(status)) || responses.has('3xx')

/** The answer to a condition among the arguments, such as `If-None-Match`. */
function toUnchanged(reply: HttpReply, context: AnswerContext): Outcome {
  const line = `HTTP 304: not modified. ${toHeaderLine(reply, context)}`
  return { kind: 'done', content: [text(line.trim())] }
}

function toRedirectAnswer(reply: HttpReply, context: AnswerContext): Outcome {
  const declared = findResponse(context.operation.responses, reply.status)
  const meaning = declared?.description ? ` (${quoteUpstreamText(declared.description)})` : ''
  const line = `HTTP ${reply.status}${meaning}, not followed. ${toHeaderLine(reply, context)}`
  return { kind: 'done', content: [text(line.trim())] }
}

function toSuccess(reply: HttpReply, context: AnswerContext): Outcome {
  const { headers, body, status } = reply
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    return upstreamInvalid(`The response has the unsupported content encoding ${encoding}.`)
  const headerLine = toHeaderLine(reply, context)
  if (body.length === 0)
    return {
      kind: 'done',
      content: [text([`HTTP ${status}, without content.`, headerLine].join(' ').trim())],
    }
  const outcome = toBodyOutcome(reply, context.url)
  return outcome.kind === 'done' ? withAdditions(outcome, headerLine, reply, context) : outcome
}

function toBodyOutcome({ headers, body }: HttpReply, url: URL): Outcome {
  const type = toMediaType(headers)
  if (isJson(type) || type === '') {
    const json = decodeText(body)
    const data = json === undefined ? undefined : parseJson(json)
    if (isDeeper(data, maxDepth))
      return upstreamInvalid(`The response is nested deeper than ${maxDepth} levels.`)
    if (data !== undefined) return { kind: 'done', data }
    if (type !== '')
      return upstreamInvalid('The response is declared as JSON but is not valid JSON.')
  }
  if (type === '' || isTextMedia(type)) {
    const content = decodeText(body)
    if (content !== undefined) return { kind: 'done', content: [text(content)] }
  }
  return { kind: 'done', content: [toBlock(type, body, url)] }
}

function toBlock(type: string, body: Buffer, url: URL): Content {
  const data = body.toString('base64')
  if (type.startsWith('image/')) return { type: 'image', data, mimeType: type }
  if (type.startsWith('audio/')) return { type: 'audio', data, mimeType: type }
  return {
    type: 'resource',
    resource: { uri: url.href, ...dropUndefined({ mimeType: type || undefined }), blob: data },
  }
}

/** The text block comes first: clients may read no other. */
function withAdditions(
  outcome: Done,
  headerLine: string,
  reply: HttpReply,
  { operation, url, input, writes }: AnswerContext,
): Done {
  const page = writes
    ? undefined
    : toNextPage(operation, { headers: reply.headers, data: outcome.data, url, input })
  const notices = page ? { notices: [page] } : {}
  if (headerLine === '') return { ...outcome, ...notices }
  const content = outcome.content ?? [text(JSON.stringify(outcome.data))]
  return { ...outcome, ...notices, content: [...content, text(headerLine)] }
}

const maxHeaderChars = 1000

/** `Link` is long, and read for the next page; a cookie is a credential. */
const hiddenHeaders = new Set(['link', 'set-cookie'])

/** The declared headers of the response, and where a created resource is. */
function toHeaderLine(
  { status, headers }: HttpReply,
  { operation: { responses, method } }: AnswerContext,
): string {
  const declared = findResponse(responses, status)?.headers ?? []
  const usual = method === 'head' ? ['content-length', 'content-type', 'etag', 'last-modified'] : []
  const names = [...new Set([...declared, ...usual, 'location'])].filter(
    (name) => !hiddenHeaders.has(name),
  )
  const lines = names.flatMap((name) => {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    return value === undefined ? [] : [`${name}: ${quoteUpstreamText([value].flat().join(', '))}`]
  })
  return lines.length === 0 ? '' : `Headers: ${lines.join('; ')}`.slice(0, maxHeaderChars)
}

function toRefusal(reply: HttpReply, { operation }: AnswerContext): Outcome {
  const { status, headers } = reply
  const declared = findResponse(operation.responses, status)
  const cause = `HTTP ${status} ${quoteUpstreamText(reply.body.toString())}`.trim()
  const retryAfter = toRetryAfter(headers['retry-after'], headers.date)
  // 403 is about our credentials, unless the document says what else it means here.
  const isOurs = status === 401 || status === 407 || (status === 403 && !declared)
  if (isOurs) return upstreamUnauthorized(cause)
  if (status === 429) return upstreamBusy(retryAfter)
  if (status >= 500) return upstreamUnavailable(cause, retryAfter)
  if (status < 400) return upstreamInvalid(cause)
  const meaning = declared?.description ? ` (${quoteUpstreamText(declared.description)})` : ''
  const message = toErrorMessage(reply)
  const details = toErrorDetails(reply, message)
  return upstreamFailed(
    'upstream_refused',
    `The API answered with HTTP ${status}${meaning}${message === '' ? '.' : `: ${message}`}${details}`,
    { details: { status } },
  )
}

/** The whole error as JSON, if it says more than its message: usually which argument is wrong. */
function toErrorDetails({ headers, body }: HttpReply, message: string): string {
  const data = isJson(toMediaType(headers)) ? parseJson(body.toString()) : undefined
  if (typeof data !== 'object' || data === null || isDeeper(data, maxDepth)) return ''
  const json = quoteUpstreamText(JSON.stringify(withoutStack(data)))
  return json.length <= message.length + maxWrapperChars ? '' : ` ${json}`
}

/** `{"message":"…"}` around a message adds nothing. */
const maxWrapperChars = 20

const withoutStack = (data: object): object =>
  Array.isArray(data)
    ? data
    : Object.fromEntries(
        Object.entries(data).filter(([key]) => !/^(?:stack|stacktrace|trace)$/i.test(key)),
      )
