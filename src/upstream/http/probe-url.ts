import type { Cancellation } from '../../capability/cancellation.ts'
import type { Failed } from '../../capability/outcome.ts'
import { EgressError } from '../egress/egress.ts'
import type { GuardedFetch } from '../egress/guarded-fetch.ts'
import {
  egressRefused,
  upstreamRedirected,
  upstreamStopped,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../failures.ts'
import { toRetryAfter } from '../retry-after.ts'
import type { Offer } from '../upstream.ts'

export interface UrlProbe {
  readonly fetch: GuardedFetch
  /** The credentials. */
  readonly headers: Readonly<Record<string, string>>
  readonly cancellation: Cancellation
}

export interface ProbeReply {
  readonly status: number
  readonly ok: boolean
  readonly allow: string | null
}

/** Sends a request without an effect (RFC 9110), and reads only the head of the response. */
export async function probeUrl(
  method: 'GET' | 'OPTIONS',
  url: URL,
  { fetch, headers: credentials, cancellation }: UrlProbe,
): Promise<ProbeReply | Failed> {
  try {
    const reply = await fetch(url, {
      method,
      headers: { accept: '*/*', ...credentials },
      signal: cancellation.signal,
    })
    const { status, headers } = reply
    await reply.body?.cancel()
    if (status >= 300 && status < 400) return upstreamRedirected(status, headers.get('location'))
    if (status === 401 || status === 403 || status === 407)
      return upstreamUnauthorized(`${method} ${url.href} answered with HTTP ${status}.`)
    if (status >= 500 && status !== 501) {
      const retryAfterMs = toRetryAfter(headers.get('retry-after'), headers.get('date'))
      return upstreamUnavailable(
        `${method} ${url.href} answered with HTTP ${status}.`,
        retryAfterMs,
      )
    }
    return { status, ok: reply.ok, allow: headers.get('allow') }
  } catch (error) {
    if (cancellation.cancelled) return upstreamStopped()
    if (error instanceof EgressError) return egressRefused(error.message)
    return upstreamUnavailable(String(error))
  }
}

/** A server that routes by path knows the methods of a resource; others answer OPTIONS in many ways. */
export function toOffer({ status, ok, allow }: ProbeReply, method: string): Offer {
  if (status === 404 || status === 410)
    return { kind: 'missing', why: `OPTIONS is answered with HTTP ${status}` }
  if (allow !== null && (ok || status === 405))
    return allow.split(',').some((one) => one.trim().toUpperCase() === method)
      ? { kind: 'offered' }
      : { kind: 'missing', why: `${method} is not among the methods it allows (${allow})` }
  const why = `OPTIONS is answered with HTTP ${status}${ok ? ' without the header Allow' : ''}`
  return { kind: 'unknown', why }
}
