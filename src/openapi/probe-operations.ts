import { isFault } from '../capability/fault.ts'
import { type Failed, isFailed } from '../capability/outcome.ts'
import { upstreamRedirected, upstreamUnavailable } from '../upstream/failures.ts'
import { toOffer } from '../upstream/http/probe-url.ts'
import type { HttpReply } from '../upstream/http/send.ts'
import { toRetryAfter } from '../upstream/retry-after.ts'
import type { Offer, ProbeRequest } from '../upstream/upstream.ts'
import type { ApiClient, ApiTarget } from './api-client.ts'
import { toPlainUrl } from './requests/to-request.ts'

export interface OperationsProbe {
  readonly offers: ReadonlyMap<string, Offer>
  /** Operations for which nothing was sent, because there are no credentials, with the reason. */
  readonly withoutCredentials: ReadonlyMap<string, string>
  /** Operations whose credentials the server rejects, with the answer. */
  readonly rejected: ReadonlyMap<string, string>
}

/** What is known of a combination of security schemes. */
interface Credentials {
  /** Why nothing can be sent with it. */
  readonly fault?: string
  isAccepted: boolean
  /** Operations whose path was answered with 401 or 403, with the answer. */
  readonly rejections: Map<string, string>
}

/** Sends OPTIONS once for each path without variables: other paths may not exist. */
export async function probeOperations(
  client: ApiClient,
  targets: ReadonlyMap<string, ApiTarget>,
  { capabilities, cancellation }: Omit<ProbeRequest, 'url'>,
): Promise<OperationsProbe | Failed> {
  const replies = new Map<string, HttpReply>()
  const offers = new Map<string, Offer>()
  const withoutCredentials = new Map<string, string>()
  const combinations = new Map<string, Credentials>()
  /** Of the first path; a failure of the server if no path has another answer. */
  let failure: Failed | undefined
  let hasAnswer = false
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
    const schemes = toSchemeNames(target)
    const used: Credentials = combinations.get(schemes) ?? {
      isAccepted: false,
      rejections: new Map(),
    }
    combinations.set(schemes, used)
    const key = `${schemes} ${url.href}`
    let reply = replies.get(key)
    if (!reply) {
      if (replies.size >= maxRequests) stopped ??= `only ${maxRequests} paths are asked for`
      if (stopped !== undefined) {
        leaveOpen(capability, stopped)
        continue
      }
      const [rejection] = used.rejections.values()
      if (rejection !== undefined && !used.isAccepted && used.rejections.size >= maxRejections) {
        used.rejections.set(capability, rejection)
        continue
      }
      const answer =
        used.fault === undefined
          ? await client.sendOptions(target, url, cancellation)
          : { withoutCredentials: used.fault }
      if ('withoutCredentials' in answer) {
        const fault = answer.withoutCredentials
        // Other operations can have other credentials; the same ones are not made again.
        combinations.set(schemes, { ...used, fault })
        withoutCredentials.set(capability, fault)
        leaveOpen(capability, fault)
        continue
      }
      if (isFailed(answer)) return answer
      reply = answer
      replies.set(key, reply)
    }
    const { status } = reply
    if (isRejection(status))
      used.rejections.set(capability, `OPTIONS ${url.href} is answered with HTTP ${status}`)
    else if (toFailure(url, reply) === undefined) used.isAccepted = true
    failure ??= toFailure(url, reply)
    hasAnswer ||= toFailure(url, reply) === undefined
    const allow = reply.headers.allow ?? null
    const ok = status >= 200 && status < 300
    offers.set(capability, toOffer({ status, ok, allow }, target.operation.method.toUpperCase()))
    if (status === 429) stopped ??= 'the server answers that it is busy (HTTP 429)'
  }
  if (failure && !hasAnswer) return failure
  return { offers, withoutCredentials, rejected: toRejected([...combinations.values()]) }
}

/** Where other paths accept the same credentials, a path only refuses to tell about itself. */
const toRejected = (combinations: readonly Credentials[]): ReadonlyMap<string, string> =>
  new Map(combinations.flatMap(({ isAccepted, rejections }) => (isAccepted ? [] : [...rejections])))

const isRejection = (status: number): boolean => status === 401 || status === 403 || status === 407

/** An answer that tells nothing about the path, and that a server gives that does not work. */
function toFailure(url: URL, { status, headers }: HttpReply): Failed | undefined {
  if (status >= 300 && status < 400) return upstreamRedirected(status, headers.location)
  if (status < 500 || status === 501) return undefined
  const retryAfter = toRetryAfter(headers['retry-after'], headers.date)
  return upstreamUnavailable(`OPTIONS ${url.href} is answered with HTTP ${status}.`, retryAfter)
}

const toSchemeNames = ({ security }: ApiTarget): string =>
  isFault(security)
    ? security.fault
    : JSON.stringify(security.map(({ name, scopes }) => [name, scopes]))

const maxRequests = 100

/** More could lock an account. */
const maxRejections = 3
