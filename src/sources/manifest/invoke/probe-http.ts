import { isFailed } from '../../../capability/outcome.ts'
import type { GuardedFetch } from '../../../upstream/egress/guarded-fetch.ts'
import { upstreamInvalid } from '../../../upstream/failures.ts'
import { probeUrl, toOffer } from '../../../upstream/http/probe-url.ts'
import type { Credential, Offer, ProbeAnswer, ProbeRequest } from '../../../upstream/upstream.ts'

export interface HttpProbeOptions {
  readonly fetch: GuardedFetch
  readonly credential: Credential | undefined
  /** The URL of a capability; `undefined` if its id cannot be part of one. */
  readonly toUrl: (capability: string) => URL | undefined
}

/** Reads the given URL, or else sends OPTIONS for one capability after the other. Neither has an effect (RFC 9110). */
export async function probeHttp(
  request: ProbeRequest,
  options: HttpProbeOptions,
): Promise<ProbeAnswer> {
  const { capabilities, url } = request
  const offers = new Map<string, Offer>()
  if (url !== undefined) {
    const reply = await probeUrl('GET', new URL(url), toParts(request, options))
    if (isFailed(reply)) return reply
    if (!reply.ok) return upstreamInvalid(`GET ${url} answered with HTTP ${reply.status}.`)
    for (const capability of capabilities) offers.set(capability, { kind: 'offered' })
    return offers
  }
  for (const capability of capabilities) {
    const target = options.toUrl(capability)
    if (!target) {
      offers.set(capability, { kind: 'missing', why: 'its id cannot be part of a URL' })
      continue
    }
    const reply = await probeUrl('OPTIONS', target, toParts(request, options))
    if (isFailed(reply)) return reply
    offers.set(capability, toOffer(reply, 'POST'))
    if (reply.status === 429) break
  }
  return offers
}

const toParts = ({ cancellation }: ProbeRequest, { fetch, credential }: HttpProbeOptions) => ({
  fetch,
  cancellation,
  headers: credential ? { [credential.header]: credential.value } : {},
})
