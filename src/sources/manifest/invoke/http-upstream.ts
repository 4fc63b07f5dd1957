import http from 'node:http'
import https from 'node:https'
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

const largestAnswer = 4 * 1024 * 1024
/** Most servers drop a connection after five idle seconds; one they dropped must not be used again. */
const longestIdle = 4000

/** An agent's HTTP interface: arguments are posted to `<endpoint>/<capability>`, JSON comes back. */
export function httpUpstream(options: UpstreamOptions): Upstream {
  const { credential = noCredential, limits } = options
  const endpoint = toEndpoint(options.endpoint)
  const kept = { keepAlive: true, timeout: longestIdle, scheduling: 'lifo' } as const
  const agent =
    'protocol' in endpoint && endpoint.protocol === 'https:'
      ? new https.Agent(kept)
      : new http.Agent(kept)

  async function call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { cancellation } = request
    if ('failure' in endpoint) return { outcome: endpoint, reached: 'no' }
    if (cancellation.cancelled) return { outcome: upstreamStopped(), reached: 'no' }
    const url = toUrl(endpoint, request.capability)
    if (!url) {
      const cause = `${request.capability} cannot be part of a path.`
      return { outcome: unusableEndpoint(cause), reached: 'no' }
    }
    if (request.idempotencyKey !== undefined && !isFieldValue(request.idempotencyKey))
      return { outcome: unsendableKey(), reached: 'no' }
    let posted: PostResult
    try {
      const proof = await untilCancelled(credential(), cancellation)
      posted = await post(url, {
        headers: toHeaders(request, proof),
        body: JSON.stringify(request.input ?? {}),
        agent,
        signal: cancellation.signal,
        limit: limits?.answer ?? largestAnswer,
      })
    } catch (error) {
      const outcome = cancellation.cancelled
        ? upstreamStopped()
        : upstreamUnauthorized(String(error))
      return { outcome, reached: 'no' }
    }
    if (posted.kind === 'broken' && cancellation.cancelled)
      return { outcome: upstreamStopped(), reached: posted.sent ? 'maybe' : 'no' }
    return toUpstreamAnswer(posted, limits?.answer ?? largestAnswer)
  }

  return { call, close: async () => agent.destroy() }
}

const noCredential = async () => undefined

function toUrl(endpoint: URL, capability: string): URL | undefined {
  const url = new URL(endpoint)
  const last = `/${encodeURIComponent(capability)}`
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${last}`
  // `.` and `..` would name something else.
  return url.pathname.endsWith(last) ? url : undefined
}

const toHeaders = (
  { idempotencyKey, traceparent }: UpstreamRequest,
  proof: Credential | undefined,
): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/*;q=0.5',
  'accept-encoding': 'identity',
  ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  ...(traceparent !== undefined && isFieldValue(traceparent) && { traceparent }),
  ...(proof && { [proof.header.toLowerCase()]: proof.value }),
})

const isFieldValue = (value: string): boolean =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value)

const unsendableKey = () =>
  upstreamRefused('The idempotency key cannot be sent on: use visible ASCII characters only.')
