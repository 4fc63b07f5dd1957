import { isFault } from '../../../capability/fault.ts'
import { isFailed } from '../../../capability/outcome.ts'
import { defaultEgress } from '../../../upstream/egress/egress.ts'
import { createGuardedAgents } from '../../../upstream/egress/guarded-agents.ts'
import { toEndpoint } from '../../../upstream/endpoint.ts'
import {
  unusableEndpoint,
  upstreamRefused,
  upstreamStopped,
  upstreamUnauthorized,
} from '../../../upstream/failures.ts'
import { untilCancelled } from '../../../upstream/until-cancelled.ts'
import type {
  Credential,
  Upstream,
  UpstreamAnswer,
  UpstreamOptions,
  UpstreamRequest,
} from '../../../upstream/upstream.ts'
import { type PostResult, post } from './post.ts'
import { toUpstreamAnswer } from './to-upstream-answer.ts'

const defaultMaxAnswerBytes = 4 * 1024 * 1024
/** Below the five seconds after which most servers close idle keep-alive connections. */
const maxIdleMs = 4000

/** Calls an agent over HTTP: the input is sent as JSON with POST to `<endpoint>/<capability>`. */
export function httpUpstream(options: UpstreamOptions): Upstream {
  const { credential = noCredential, limits } = options
  const endpoint = toEndpoint(options.endpoint)
  const agents = createGuardedAgents(options.egress ?? defaultEgress, {
    keepAlive: true,
    timeout: maxIdleMs,
    scheduling: 'lifo',
  })

  async function call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { cancellation } = request
    if (isFailed(endpoint)) return { outcome: endpoint, reached: 'no' }
    if (cancellation.cancelled) return { outcome: upstreamStopped(), reached: 'no' }
    const url = toUrl(endpoint, request.capability)
    if (!url) {
      const cause = `The capability id ${request.capability} cannot be used as a path segment.`
      return { outcome: unusableEndpoint(cause), reached: 'no' }
    }
    if (request.idempotencyKey !== undefined && !isFieldValue(request.idempotencyKey))
      return { outcome: invalidKey(), reached: 'no' }
    let result: PostResult
    try {
      const header = await untilCancelled(credential(), cancellation)
      result = await post(url, {
        headers: toHeaders(request, header),
        body: JSON.stringify(request.input ?? {}),
        agent: agents[url.protocol as 'http:' | 'https:'],
        signal: cancellation.signal,
        maxBytes: limits?.answer ?? defaultMaxAnswerBytes,
      })
    } catch (error) {
      const outcome = cancellation.cancelled
        ? upstreamStopped()
        : upstreamUnauthorized(String(error))
      return { outcome, reached: 'no' }
    }
    if (isFault(result) && cancellation.cancelled)
      return { outcome: upstreamStopped(), reached: result.wasSent ? 'maybe' : 'no' }
    return toUpstreamAnswer(result, limits?.answer ?? defaultMaxAnswerBytes)
  }

  const close = async () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { call, close }
}

const noCredential = async () => undefined

function toUrl(endpoint: URL, capability: string): URL | undefined {
  const url = new URL(endpoint)
  const lastSegment = `/${encodeURIComponent(capability)}`
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}${lastSegment}`
  // The URL parser normalises `.` and `..`, which would call another path.
  return url.pathname.endsWith(lastSegment) ? url : undefined
}

const toHeaders = (
  { idempotencyKey, traceparent }: UpstreamRequest,
  credential: Credential | undefined,
): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/*;q=0.5',
  'accept-encoding': 'identity',
  ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  ...(traceparent !== undefined && isFieldValue(traceparent) && { traceparent }),
  ...(credential && { [credential.header.toLowerCase()]: credential.value }),
})

/** A visible ASCII field value (RFC 9110); prevents header injection. */
const isFieldValue = (value: string): boolean =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)

const invalidKey = () =>
  upstreamRefused(
    'The idempotency key cannot be forwarded as a header: use visible ASCII characters only.',
  )
