import type { FetchLike } from '@modelcontextprotocol/client'
import { currentExchange, UpstreamExchange } from './upstream-exchange.ts'

const sideRequestTimeoutMs = 2000
const maxSideResponseBytes = 64 * 1024

/** `fetch` for the SDK with size limits, because the SDK reads every response to its end. */
export const boundedFetch: FetchLike = async (url, init) => {
  // No standing GET stream for notifications: a GET is only used to resume a broken response.
  if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
    return new Response(null, { status: 405 })
  const exchange = currentExchange.getStore()
  if (exchange && !exchange.isOver) return exchange.watch(await fetch(url, init))
  // Requests outside a call: a cancellation notice, or the end of a session.
  const timeout = AbortSignal.timeout(sideRequestTimeoutMs)
  const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout
  return new UpstreamExchange(maxSideResponseBytes).watch(await fetch(url, { ...init, signal }))
}
