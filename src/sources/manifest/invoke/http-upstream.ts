import { isFault } from '../../../capability/fault.ts'
import { isFailed } from '../../../capability/outcome.ts'
import { defaultEgress } from '../../../upstream/egress/egress.ts'
import { createGuardedAgents } from '../../../upstream/egress/guarded-agents.ts'
import { toGuardedFetch } from '../../../upstream/egress/guarded-fetch.ts'
import { toEndpoint } from '../../../upstream/endpoint.ts'
import {
  unusableEndpoint,
  upstreamStopped,
  upstreamUnauthorized,
} from '../../../upstream/failures.ts'
import { isFieldValue, unsendableKey } from '../../../upstream/http/field-value.ts'
import { type SendResult, send } from '../../../upstream/http/send.ts'
import { toUpstreamAnswer } from '../../../upstream/http/to-upstream-answer.ts'
import { untilCancelled } from '../../../upstream/until-cancelled.ts'
import type {
  Credential,
  ProbeAnswer,
  ProbeRequest,
  Upstream,
  UpstreamAnswer,
  UpstreamOptions,
  UpstreamRequest,
} from '../../../upstream/upstream.ts'
import { probeHttp } from './probe-http.ts'

const defaultMaxAnswerBytes = 4 * 1024 * 1024
/** Below the five seconds after which most servers close idle keep-alive connections. */
const maxIdleMs = 4000

/** Calls an agent over HTTP: the input is sent as JSON with POST to `<endpoint>/<capability>`. */
export function httpUpstream(options: UpstreamOptions): Upstream {
  const { credential = noCredential, egress = defaultEgress, limits } = options
  const endpoint = toEndpoint(options.endpoint)
  const agents = createGuardedAgents(egress, {
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
      return { outcome: unsendableKey(), reached: 'no' }
    let result: SendResult
    try {
      const header = await untilCancelled(credential(), cancellation)
      result = await send(url, {
        method: 'POST',
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

  async function probe(request: ProbeRequest): Promise<ProbeAnswer> {
    if (isFailed(endpoint)) return endpoint
    try {
      return await probeHttp(request, {
        fetch: toGuardedFetch(egress),
        credential: await untilCancelled(credential(), request.cancellation),
        toUrl: (capability) => toUrl(endpoint, capability),
      })
    } catch (error) {
      return request.cancellation.cancelled
        ? upstreamStopped()
        : upstreamUnauthorized((error as Error).message)
    }
  }

  const close = async () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { call, probe, close }
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
