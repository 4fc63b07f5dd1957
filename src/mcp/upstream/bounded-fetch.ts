import type { FetchLike } from '@modelcontextprotocol/client'
import { EgressError } from '../../upstream/egress/egress.ts'
import type { GuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import { currentExchange, UpstreamExchange } from './upstream-exchange.ts'

const sideRequestTimeoutMs = 2000
const maxSideResponseBytes = 64 * 1024

/** `fetch` for the SDK with size limits, because the SDK reads every response to its end. */
export const createBoundedFetch =
  (fetch: GuardedFetch): FetchLike =>
  async (url, init) => {
    // No standing GET stream for notifications: a GET is only used to resume a broken response.
    if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
      return new Response(null, { status: 405 })
    const exchange = currentExchange.getStore()
    if (exchange && !exchange.isOver)
      try {
        return exchange.watch(await fetch(url, init))
      } catch (error) {
        if (error instanceof EgressError) exchange.refuse(error.message)
        throw error
      }
    // Requests outside a call: a cancellation notice, or the end of a session.
    const timeout = AbortSignal.timeout(sideRequestTimeoutMs)
    const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout
    return new UpstreamExchange(maxSideResponseBytes).watch(await fetch(url, { ...init, signal }))
  }
