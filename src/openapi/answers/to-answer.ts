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
import { mayHaveLargeIntegers, quoteLargeIntegers } from './large-integers.ts'
import { toNextPage } from './next-page.ts'
import { findResponse } from './responses.ts'

export interface AnswerContext {
  readonly operation: Operation
  /** Without credentials. */
  readonly url: URL
  /** Whether the tool takes these arguments beside those of the call. */
  readonly accepts: (found: object) => boolean
  /** Is never proposed to be called again. */
  readonly writes: boolean
  /** An output schema is enforced: the types of values must stay as they are. */
  readonly hasOutputSchema: boolean
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
  const { outcome, remark } = toBodyOutcome(reply, context)
  const line = [headerLine, remark ?? ''].filter((one) => one !== '').join(' ')
  return outcome.kind === 'done' ? withAdditions(outcome, line, reply, context) : outcome
}

interface BodyOutcome {
  readonly outcome: Outcome
  /** A sentence for the model. */
  readonly remark?: string | undefined
}

function toBodyOutcome(reply: HttpReply, context: AnswerContext): BodyOutcome {
  const type = toMediaType(reply.headers)
  const json =
    isJson(type) || type === '' ? decodeAny(reply, ['utf-8', toCharset(reply)]) : undefined
  const { data, remark } = json === undefined ? {} : toData(json, context)
  return data === undefined
    ? { outcome: toOtherOutcome(reply, type, context.url) }
    : isDeeper(data, maxDepth)
      ? { outcome: upstreamInvalid(`The response is nested deeper than ${maxDepth} levels.`) }
      : { outcome: { kind: 'done', data }, remark }
}

/** Integers that a number would round become texts, as bigints of tools do. */
function toData(json: string, { hasOutputSchema }: AnswerContext) {
  const data = parseJson(json)
  if (data === undefined || !mayHaveLargeIntegers(json)) return { data }
  const { json: quoted, example } = quoteLargeIntegers(json)
  if (example === undefined) return { data }
  return hasOutputSchema
    ? { data, remark: `Integers beyond 2^53 are rounded: one was ${example}.` }
    : {
        data: parseJson(quoted),
        remark: `Integers beyond 2^53 are shown as texts, such as "${example}".`,
      }
}

function toOtherOutcome(reply: HttpReply, type: string, url: URL): Outcome {
  if (isJson(type))
    return upstreamInvalid('The response is declared as JSON but is not valid JSON.')
  if (type === '' || isTextMedia(type)) {
    const content = decodeAny(reply, [toCharset(reply), 'utf-8'])
    if (content !== undefined) return { kind: 'done', content: [text(content)] }
  }
  return { kind: 'done', content: [toBlock(type, reply.body, url)] }
}

const toCharset = ({ headers }: HttpReply): string =>
  /;\s*charset="?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'

/** The text of a body in the first of the encodings that fits it. */
function decodeAny({ body }: HttpReply, encodings: readonly string[]): string | undefined {
  for (const encoding of encodings)
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(body)
    } catch {
      // It is no encoding that is known, or not that of the body.
    }
  return undefined
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
  line: string,
  reply: HttpReply,
  { operation, url, accepts, writes }: AnswerContext,
): Done {
  const page = writes
    ? undefined
    : toNextPage(operation, { headers: reply.headers, data: outcome.data, url, accepts })
  const notices = page ? { notices: [page] } : {}
  if (line === '') return { ...outcome, ...notices }
  const content = outcome.content ?? [text(JSON.stringify(outcome.data))]
  return { ...outcome, ...notices, content: [...content, text(line)] }
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
