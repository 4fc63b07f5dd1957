import { Cancellation } from '../../src/capability/cancellation.ts'
import { silentListener } from '../../src/capability/listener.ts'
import type { Upstream, UpstreamAnswer, UpstreamRequest } from '../../src/upstream/upstream.ts'

export const anUpstreamRequest = (parts: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  capability: 'look-up',
  input: { id: 1 },
  cancellation: new Cancellation(),
  listener: silentListener,
  ...parts,
})

/** Cancels the call after a time limit, like the pipeline. */
export async function callWithin(
  timeoutMs: number,
  upstream: Upstream,
  parts: Partial<UpstreamRequest> = {},
): Promise<UpstreamAnswer & { readonly took: number }> {
  const cancellation = new Cancellation()
  const timer = setTimeout(() => cancellation.cancel('The time limit was exceeded.'), timeoutMs)
  const startedAt = performance.now()
  const answer = await upstream.call(anUpstreamRequest({ cancellation, ...parts }))
  clearTimeout(timer)
  return { ...answer, took: performance.now() - startedAt }
}

/** The failure's code or the outcome's kind, and whether the request reached the agent. */
export const summarize = ({ outcome, reached }: UpstreamAnswer) => [
  outcome.kind === 'failed' ? outcome.failure.code : outcome.kind,
  reached,
]
