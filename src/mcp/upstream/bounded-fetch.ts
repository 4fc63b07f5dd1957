import type { FetchLike } from '@modelcontextprotocol/client'
import { currentExchange, UpstreamExchange } from './upstream-exchange.ts'

const longestAside = 2000
const largestAside = 64 * 1024

/** `fetch` for the SDK, which reads whatever it is sent to its end. */
export const boundedFetch: FetchLike = async (url, init) => {
  // Nobody here listens to what an agent says unasked; only an answer that broke off is resumed.
  if (init?.method === 'GET' && !new Headers(init.headers).has('last-event-id'))
    return new Response(null, { status: 405 })
  const current = currentExchange.getStore()
  if (current && !current.over) return current.watch(await fetch(url, init))
  // Not part of an answer: that a call is cancelled, or a session over.
  const aside = AbortSignal.timeout(longestAside)
  const signal = init?.signal ? AbortSignal.any([init.signal, aside]) : aside
  return new UpstreamExchange(largestAside).watch(await fetch(url, { ...init, signal }))
}
