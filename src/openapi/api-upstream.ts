import { isFault } from '../capability/fault.ts'
import { type Failed, isFailed } from '../capability/outcome.ts'
import { toGuardedFetch } from '../upstream/egress/guarded-fetch.ts'
import { upstreamRefused } from '../upstream/failures.ts'
import { probeUrl, toOffer } from '../upstream/http/probe-url.ts'
import type { Offer, ProbeRequest, Upstream, UpstreamAnswer } from '../upstream/upstream.ts'
import type { ApiClient, ApiTarget } from './api-client.ts'
import { checkArguments } from './requests/check-arguments.ts'
import { toPlainUrl } from './requests/to-request.ts'

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
      cancellation,
      idempotencyKey,
      traceparent,
    })
    return withData(answer)
  },
  async probe(request) {
    const answer = await probeOperations(client, targets, request)
    return isFailed(answer) ? answer : answer.offers
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

export interface OperationsProbe {
  readonly offers: ReadonlyMap<string, Offer>
  /** Operations for which nothing was sent, because there are no credentials, with the reason. */
  readonly withoutCredentials: ReadonlyMap<string, string>
}

/** Sends OPTIONS once for each path without variables: other paths may not exist. */
export async function probeOperations(
  client: ApiClient,
  targets: ReadonlyMap<string, ApiTarget>,
  { capabilities, cancellation }: Omit<ProbeRequest, 'url'>,
): Promise<OperationsProbe | Failed> {
  const replies = new Map<string, Awaited<ReturnType<typeof probeUrl>>>()
  const offers = new Map<string, Offer>()
  const withoutCredentials = new Map<string, string>()
  const credentialFaults = new Map<string, string>()
  let stopped: string | undefined
  const leaveOpen = (capability: string, why: string) =>
    offers.set(capability, { kind: 'unknown', why })
  for (const capability of capabilities) {
    const target = targets.get(capability)
    const url = target && toPlainUrl(target)
    if (!target || !url) {
      leaveOpen(capability, 'only paths without variables can be asked for')
      continue
    }
    let reply = replies.get(url.href)
    if (!reply) {
      if (replies.size >= maxRequests) stopped ??= `only ${maxRequests} paths are asked for`
      if (stopped !== undefined) {
        leaveOpen(capability, stopped)
        continue
      }
      const schemes = toSchemeNames(target)
      const knownFault = credentialFaults.get(schemes)
      const headers =
        knownFault === undefined ? await client.toHeaders(target, cancellation) : undefined
      if (headers === undefined || isFailed(headers)) {
        const fault = knownFault ?? toReason(headers as Failed)
        // Other operations can have other credentials; the same ones are not made again.
        credentialFaults.set(schemes, fault)
        withoutCredentials.set(capability, fault)
        leaveOpen(capability, fault)
        continue
      }
      reply = await probeUrl('OPTIONS', url, {
        fetch: toGuardedFetch(client.host.egress),
        headers,
        cancellation,
      })
      replies.set(url.href, reply)
    }
    if (isFailed(reply)) return reply
    offers.set(capability, toOffer(reply, target.operation.method.toUpperCase()))
    if (reply.status === 429) stopped ??= 'the server answers that it is busy (HTTP 429)'
  }
  return { offers, withoutCredentials }
}

const toSchemeNames = ({ security }: ApiTarget): string =>
  isFault(security)
    ? security.fault
    : JSON.stringify(security.map(({ name, scopes }) => [name, scopes]))

const toReason = ({ failure: { cause, message } }: Failed): string => cause ?? message

const maxRequests = 100
