import { isFailed } from '../capability/outcome.ts'
import { upstreamRefused, upstreamUnauthorized } from '../upstream/failures.ts'
import type { Upstream, UpstreamAnswer } from '../upstream/upstream.ts'
import type { ApiClient, ApiTarget } from './api-client.ts'
import { probeOperations } from './probe-operations.ts'
import { checkArguments } from './requests/check-arguments.ts'

/** The operations of an API as an agent with capabilities. */
export const toApiUpstream = (
  client: ApiClient,
  targets: ReadonlyMap<string, ApiTarget>,
): Upstream => ({
  async call({ capability, input, cancellation, idempotencyKey, traceparent }) {
    const target = targets.get(capability)
    if (!target) throw new Error(`The document has no operation for ${capability}.`)
    const fault = checkArguments(target.operation, input)
    if (fault) return { outcome: upstreamRefused(fault.fault), reached: 'no' }
    const answer = await client.call(target, {
      input,
      hasOutputSchema: true,
      cancellation,
      idempotencyKey,
      traceparent,
    })
    return withData(answer)
  },
  async probe(request) {
    const answer = await probeOperations(client, targets, request)
    if (isFailed(answer)) return answer
    const [rejection] = answer.rejected.values()
    return rejection === undefined ? answer.offers : upstreamUnauthorized(`${rejection}.`)
  },
  close: async () => client.close(),
})

/** A manifest always declares a result: an answer without one, such as HTTP 204, is an empty object. */
const withData = (answer: UpstreamAnswer): UpstreamAnswer => {
  const { outcome } = answer
  return outcome.kind === 'done' && outcome.data === undefined
    ? { ...answer, outcome: { ...outcome, data: {} } }
    : answer
}
