import type { Cancellation } from '../capability/cancellation.ts'
import { type Fault, isFault } from '../capability/fault.ts'
import { type Failed, isFailed, type Notice } from '../capability/outcome.ts'
import { createGuardedAgents, type GuardedAgents } from '../upstream/egress/guarded-agents.ts'
import { defaultHost, type UpstreamHost } from '../upstream/egress/upstream-source.ts'
import {
  egressRefused,
  unusableEndpoint,
  upstreamRefused,
  upstreamStopped,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../upstream/failures.ts'
import { isFieldValue, unsendableKey } from '../upstream/http/field-value.ts'
import { type HttpReply, type SendResult, send } from '../upstream/http/send.ts'
import type { UpstreamAnswer } from '../upstream/upstream.ts'
import { toAnswer } from './answers/to-answer.ts'
import type { Operation } from './compile-operation.ts'
import { methodEffects } from './methods.ts'
import { type PlainRequest, toRequest, withCredentials } from './requests/to-request.ts'
import { AccessTokens, type UsedToken } from './security/access-tokens.ts'
import { toCredentials } from './security/credentials.ts'
import type { BoundScheme } from './security/secrets.ts'

/** An operation with the server that it is sent to, and the credentials that the server gets. */
export interface ApiTarget {
  readonly operation: Operation
  readonly server: URL | Fault
  readonly security: readonly BoundScheme[] | Fault
}

/** The parts of a call that a request is made from. */
export interface ApiCall {
  readonly input: unknown
  readonly cancellation: Cancellation
  /** Default: what its method says. */
  readonly writes?: boolean | undefined
  /** Whether the tool takes these arguments. Default: `true`. */
  readonly accepts?: (input: unknown) => boolean
  /** Its result is checked against a schema. Default: `false`. */
  readonly hasOutputSchema?: boolean
  readonly idempotencyKey?: string | undefined
  readonly traceparent?: string | undefined
  /** Returns 0, or the milliseconds until the rates allow another attempt. */
  readonly admitRetry?: (() => number) | undefined
}

interface Attempt {
  readonly answer: UpstreamAnswer
  /** Access tokens that the server rejected. */
  readonly rejected: readonly UsedToken[]
}

/** Below the five seconds after which most servers close idle keep-alive connections. */
const maxIdleMs = 4000
const maxAnswerBytes = 4 * 1024 * 1024

/** Calls operations over HTTP. Its connections are decided by the egress rules of its host. */
export class ApiClient {
  readonly #tokens: AccessTokens
  #host: UpstreamHost = defaultHost
  #agents: GuardedAgents | undefined

  constructor(steadyNow: () => number) {
    this.#tokens = new AccessTokens({ agents: () => this.#openAgents(), steadyNow })
  }

  get host(): UpstreamHost {
    return this.#host
  }

  /** Connections that were made under other rules are closed. */
  connect(host: UpstreamHost): void {
    if (host.egress !== this.#host.egress) this.close()
    this.#host = host
  }

  /** Does not reject; settles at the latest when the call is cancelled. */
  async call(target: ApiTarget, call: ApiCall): Promise<UpstreamAnswer> {
    const { operation, server, security } = target
    if (call.cancellation.cancelled) return { outcome: upstreamStopped(), reached: 'no' }
    if (isFault(server)) return { outcome: unusableEndpoint(server.fault), reached: 'no' }
    if (isFault(security)) return { outcome: upstreamUnauthorized(security.fault), reached: 'no' }
    const request = toRequest(operation, server, call.input)
    if (isFault(request)) return { outcome: upstreamRefused(request.fault), reached: 'no' }
    const withHeaders = addCallHeaders(request, call, operation)
    if (isFailed(withHeaders)) return { outcome: withHeaders, reached: 'no' }
    const { answer, rejected } = await this.#attempt(withHeaders, target, security, call)
    // The server rejected a token before it did anything. A new one is worth one more attempt; a token that
    // was new already is not.
    if (call.cancellation.cancelled || !rejected.some(({ isCached }) => isCached)) return answer
    const waitMs = call.admitRetry?.() ?? 0
    if (waitMs > 0) return { ...answer, outcome: withNotice(answer.outcome, notRetried(waitMs)) }
    return (await this.#attempt(withHeaders, target, security, call)).answer
  }

  /** Sends OPTIONS, which runs nothing (RFC 9110), with the credentials of a call. */
  async sendOptions(
    { security }: ApiTarget,
    url: URL,
    cancellation: Cancellation,
  ): Promise<HttpReply | Failed | { readonly withoutCredentials: string }> {
    if (isFault(security)) return { withoutCredentials: security.fault }
    const request = { method: 'OPTIONS', url, headers: {}, cookies: [], body: undefined }
    try {
      const credentials = await this.#toCredentials(security, cancellation)
      const result = await this.#send(withCredentials(request, credentials), cancellation)
      if (!isFault(result)) return result
      if (cancellation.cancelled) return upstreamStopped()
      const isRefused = result.fault === 'egress_refused'
      return isRefused ? egressRefused(result.cause) : upstreamUnavailable(result.cause)
    } catch (error) {
      return cancellation.cancelled
        ? upstreamStopped()
        : { withoutCredentials: (error as Error).message }
    }
  }

  #toCredentials(security: readonly BoundScheme[], cancellation: Cancellation) {
    const { onSecret } = this.#host
    return toCredentials(security, { tokens: this.#tokens, cancellation, onSecret })
  }

  close(): void {
    for (const agent of Object.values(this.#agents ?? {})) agent.destroy()
    this.#agents = undefined
  }

  async #attempt(
    request: PlainRequest,
    { operation }: ApiTarget,
    security: readonly BoundScheme[],
    { input, accepts, cancellation, writes, hasOutputSchema = false }: ApiCall,
  ): Promise<Attempt> {
    let result: SendResult
    let tokens: readonly UsedToken[]
    try {
      const credentials = await this.#toCredentials(security, cancellation)
      tokens = credentials.flatMap(({ token }) => token ?? [])
      result = await this.#send(withCredentials(request, credentials), cancellation)
    } catch (error) {
      const outcome = cancellation.cancelled
        ? upstreamStopped()
        : upstreamUnauthorized((error as Error).message)
      return { answer: { outcome, reached: 'no' }, rejected: [] }
    }
    if (isFault(result) && cancellation.cancelled) {
      const reached = result.wasSent ? 'maybe' : 'no'
      return { answer: { outcome: upstreamStopped(), reached }, rejected: [] }
    }
    const rejected = !isFault(result) && result.status === 401 ? tokens : []
    for (const token of rejected) this.#tokens.forget(token)
    const answer = toAnswer(result, {
      operation,
      url: request.url,
      accepts: (found) => accepts?.({ ...(input as object), ...found }) ?? true,
      writes: writes ?? methodEffects[operation.method].writes,
      hasOutputSchema,
      maxBytes: maxAnswerBytes,
    })
    return { answer, rejected }
  }

  #send(
    { url, method, headers, body }: Omit<PlainRequest, 'cookies'>,
    { signal }: Cancellation,
  ): Promise<SendResult> {
    const agent = this.#openAgents()[url.protocol as 'http:' | 'https:']
    return send(url, { method, headers, body, agent, signal, maxBytes: maxAnswerBytes })
  }

  #openAgents(): GuardedAgents {
    this.#agents ??= createGuardedAgents(this.#host.egress, {
      keepAlive: true,
      timeout: maxIdleMs,
      scheduling: 'lifo',
    })
    return this.#agents
  }
}

const notRetried = (waitMs: number): Notice => ({
  about: 'retry',
  text: `The API rejected an access token, and the call was not repeated with a new one, because its rate limit is used up. Try again in ${waitMs} ms.`,
  data: { attempts: 1, retry_after_ms: waitMs },
})

const withNotice = (outcome: UpstreamAnswer['outcome'], notice: Notice) =>
  outcome.kind === 'asking'
    ? outcome
    : { ...outcome, notices: [...(outcome.notices ?? []), notice] }

/** The idempotency key and the trace of the call. Reads have no use for a key, unless the document requires one. */
function addCallHeaders(
  request: PlainRequest,
  { idempotencyKey, traceparent }: ApiCall,
  { method, requiresKey }: Operation,
): PlainRequest | Failed {
  const headers: Record<string, string> = { ...request.headers }
  const isRead = method === 'get' || method === 'head'
  if (idempotencyKey !== undefined && (!isRead || requiresKey)) {
    if (!isFieldValue(idempotencyKey)) return unsendableKey()
    headers['idempotency-key'] = idempotencyKey
  }
  if (traceparent !== undefined && isFieldValue(traceparent)) headers.traceparent = traceparent
  return { ...request, headers }
}
