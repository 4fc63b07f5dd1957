import { silentListener } from '../../src/capability/call.ts'
import { Cancellation } from '../../src/capability/cancellation.ts'
import type { Upstream, UpstreamAnswer, UpstreamRequest } from '../../src/upstream/upstream.ts'

export const anUpstreamRequest = (parts: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  capability: 'look-up',
  input: { id: 1 },
  cancellation: new Cancellation(),
  listener: silentListener,
  ...parts,
})

/** What the pipeline does: after that long the call is cancelled. */
export async function callWithin(
  milliseconds: number,
  upstream: Upstream,
  parts: Partial<UpstreamRequest> = {},
): Promise<UpstreamAnswer & { readonly took: number }> {
  const cancellation = new Cancellation()
  const timer = setTimeout(() => cancellation.cancel('The time limit is over.'), milliseconds)
  const started = performance.now()
  const answer = await upstream.call(anUpstreamRequest({ cancellation, ...parts }))
  clearTimeout(timer)
  return { ...answer, took: performance.now() - started }
}

/** The failure's code and whether the agent got to work, or what else it was. */
export const inShort = ({ outcome, reached }: UpstreamAnswer) => [
  outcome.kind === 'failed' ? outcome.failure.code : outcome.kind,
  reached,
]
