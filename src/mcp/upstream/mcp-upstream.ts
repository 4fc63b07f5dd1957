import { isPlainObject } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { toEndpoint } from '../../upstream/endpoint.ts'
import {
  upstreamRefused,
  upstreamStopped,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../upstream/failures.ts'
import { untilCancelled } from '../../upstream/until-cancelled.ts'
import type {
  Upstream,
  UpstreamAnswer,
  UpstreamOptions,
  UpstreamRequest,
} from '../../upstream/upstream.ts'
import type { UpstreamLink } from './upstream-link.ts'

export interface McpUpstreamOptions extends UpstreamOptions {
  /** How we introduce ourselves to the agent. */
  readonly identity?: { readonly name: string; readonly version: string }
}

const largestAnswer = 8 * 1024 * 1024
const longestConnect = 10_000

/** An agent's MCP interface, of either era. All calls share one connection, made by the first. */
export class McpUpstream implements Upstream {
  readonly #options: McpUpstreamOptions
  readonly #endpoint: URL | Failed
  readonly #closing = new AbortController()
  #link: Promise<UpstreamLink | Failed> | undefined

  constructor(options: McpUpstreamOptions) {
    this.#options = options
    this.#endpoint = toEndpoint(options.endpoint)
  }

  async call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    if (request.input !== undefined && !isPlainObject(request.input))
      return {
        outcome: upstreamRefused('The agent takes its arguments as an object.'),
        reached: 'no',
      }
    const first = await this.#try(request)
    // It was not carried out, because the agent had forgotten who we are: once more on a new session.
    return first === 'expired' ? this.#tryAgain(request) : first
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const link = await this.#link
    if (link && !isFailed(link)) await link.close()
  }

  async #try(request: UpstreamRequest): Promise<UpstreamAnswer | 'expired'> {
    if (this.#closing.signal.aborted) return { outcome: closed(), reached: 'no' }
    const shared = this.#shared()
    const link = await untilCancelled(shared, request.cancellation).catch(upstreamStopped)
    if (isFailed(link)) return { outcome: link, reached: 'no' }
    const { link: state, outcome, reached } = await link.call(request)
    if (state !== 'sound') {
      // The next call makes a new one; those still on this one may finish.
      this.#forget(shared)
      link.retire()
    }
    return state === 'expired' ? 'expired' : { outcome, reached }
  }

  async #tryAgain(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const second = await this.#try(request)
    if (second !== 'expired') return second
    return {
      outcome: upstreamUnavailable('The agent forgets its sessions at once.'),
      reached: 'no',
    }
  }

  #shared(): Promise<UpstreamLink | Failed> {
    if (this.#link) return this.#link
    const opening = this.#open()
    this.#link = opening
    opening.then((link) => isFailed(link) && this.#forget(opening))
    return opening
  }

  #forget(link: Promise<UpstreamLink | Failed>): void {
    if (this.#link === link) this.#link = undefined
  }

  async #open(): Promise<UpstreamLink | Failed> {
    const {
      credential,
      limits,
      identity = { name: 'drawbridge', version: '0.0.0' },
    } = this.#options
    if (isFailed(this.#endpoint)) return this.#endpoint
    try {
      const proof = await credential?.()
      // Loaded when an agent is first called: starting must not wait for it.
      const { UpstreamLink } = await import('./upstream-link.ts')
      return await UpstreamLink.open({
        url: this.#endpoint,
        proof,
        identity,
        closing: this.#closing.signal,
        limits: { answer: largestAnswer, connect: longestConnect, ...limits },
      })
    } catch (error) {
      return upstreamUnauthorized(String(error))
    }
  }
}

const isFailed = (one: object): one is Failed => 'failure' in one

const closed = () => upstreamUnavailable('The connection to the agent is closed.')
