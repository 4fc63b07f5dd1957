import type { IncomingHttpHeaders } from 'node:http'
import { text } from '../../../capability/content.ts'
import { isPlainObject } from '../../../capability/json.ts'
import type { Outcome } from '../../../capability/outcome.ts'
import {
  upstreamBusy,
  upstreamInvalid,
  upstreamRefused,
  upstreamTooLarge,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../../upstream/failures.ts'
import { toRetryAfter } from '../../../upstream/retry-after.ts'
import type { UpstreamAnswer } from '../../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../../upstream/upstream-text.ts'
import type { PostFailure, PostResult, PostReply } from './post.ts'

/** What came of a POST, in our words. */
export function toUpstreamAnswer(posted: PostResult, limit: number): UpstreamAnswer {
  if (posted.kind === 'broken')
    return { outcome: toBreakdown(posted, limit), reached: posted.sent ? 'maybe' : 'no' }
  const { status } = posted
  if (status >= 200 && status < 300) {
    const outcome = toSuccess(posted)
    return { outcome, reached: outcome.kind === 'done' ? 'yes' : 'maybe' }
  }
  // A failing server may have failed after it did the work.
  return { outcome: toRefusal(posted), reached: status >= 500 ? 'maybe' : 'yes' }
}

function toBreakdown({ how, cause }: PostFailure, limit: number): Outcome {
  switch (how) {
    case 'lost':
      return upstreamUnavailable(cause)
    case 'garbled':
      return upstreamInvalid(cause)
    case 'too_large':
      return upstreamTooLarge(limit)
  }
}

function toSuccess({ headers, body }: PostReply): Outcome {
  if (body.length === 0) return { kind: 'done' }
  const type = toMediaType(headers)
  if (headers['content-encoding'] && headers['content-encoding'] !== 'identity')
    return upstreamInvalid(`The answer is packed as ${headers['content-encoding']}.`)
  const words = decode(body)
  if (words === undefined) return upstreamInvalid('The answer is not UTF-8.')
  if (isJson(type) || type === '') {
    const parsed = parse(words)
    if (parsed) return { kind: 'done', data: parsed.data }
    if (type !== '') return upstreamInvalid('The answer says it is JSON and is not.')
  } else if (!type.startsWith('text/'))
    return upstreamInvalid(`The answer is ${type}, not JSON or text.`)
  return { kind: 'done', content: [text(words)] }
}

function toRefusal(reply: PostReply): Outcome {
  const { status, headers } = reply
  const complaint = toComplaint(reply)
  const said = `HTTP ${status}${complaint === '' ? '' : `: ${complaint}`}`
  const retryAfter = toRetryAfter(headers['retry-after'], headers.date)
  if (status === 401 || status === 403 || status === 407) return upstreamUnauthorized(said)
  if (status === 429) return upstreamBusy(retryAfter)
  if (status >= 500) return upstreamUnavailable(said, retryAfter)
  if (status >= 400)
    return upstreamRefused(
      complaint === '' ? `The agent refused this with HTTP ${status}.` : complaint,
    )
  return upstreamInvalid(`${said} ${headers.location === undefined ? '' : 'and a redirect'}`.trim())
}

/** The sentence for a reader that most error bodies hold somewhere near the top. */
function toComplaint({ headers, body }: PostReply): string {
  const type = toMediaType(headers)
  const words = body.toString()
  if (isJson(type)) return quoteUpstreamText(findSentence(parse(words)?.data) ?? words)
  return type === 'text/plain' ? quoteUpstreamText(words) : ''
}

function findSentence(data: unknown): string | undefined {
  if (typeof data === 'string') return data
  if (!isPlainObject(data)) return undefined
  for (const key of ['message', 'detail', 'error', 'title', 'error_description']) {
    const found = findSentence(data[key])
    if (found !== undefined && found !== '') return found
  }
  return undefined
}

const toMediaType = (headers: IncomingHttpHeaders): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

function decode(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}

function parse(words: string): { readonly data: unknown } | undefined {
  try {
    return { data: JSON.parse(words) }
  } catch {
    return undefined
  }
}
