import type { Tool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../capability/json.ts'
import { type Failed, isFailed } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { defaultEgress } from '../../upstream/egress/egress.ts'
import { toGuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import { toEndpoint } from '../../upstream/endpoint.ts'
import {
  upstreamRefused,
  upstreamStopped,
  upstreamUnauthorized,
  upstreamUnavailable,
} from '../../upstream/failures.ts'
import { untilCancelled } from '../../upstream/until-cancelled.ts'
import type {
  Offer,
  ProbeAnswer,
  ProbeRequest,
  Upstream,
  UpstreamAnswer,
  UpstreamOptions,
  UpstreamRequest,
} from '../../upstream/upstream.ts'
import { quoteUpstreamText } from '../../upstream/upstream-text.ts'
import type { UpstreamLink } from './upstream-link.ts'

export interface McpUpstreamOptions extends UpstreamOptions {
  /** The name and version that the agent sees. */
  readonly identity?: { readonly name: string; readonly version: string }
}

const maxAnswerBytes = 8 * 1024 * 1024
const connectTimeoutMs = 10_000

/** An agent's MCP server, of either era. All calls share one connection, opened by the first. */
export class McpUpstream implements Upstream {
  readonly #options: McpUpstreamOptions
  readonly #endpoint: URL | Failed
  readonly #closeController = new AbortController()
  #link: Promise<UpstreamLink | Failed> | undefined

  constructor(options: McpUpstreamOptions) {
    this.#options = options
    this.#endpoint = toEndpoint(options.endpoint)
  }

  async call(request: UpstreamRequest): Promise<UpstreamAnswer> {
    if (request.input !== undefined && !isPlainObject(request.input))
      return {
        outcome: upstreamRefused('The arguments for an MCP agent must be an object.'),
        reached: 'no',
      }
    const answer = await this.#try(request)
    // An expired session means that the call did not run, so one retry on a new session is safe.
    return answer === 'expired' ? this.#retry(request) : answer
  }

  /** Asks on a connection of its own, so that what is asked is the present state of the agent. */
  async probe({ capabilities, cancellation }: ProbeRequest): Promise<ProbeAnswer> {
    const linkPromise = this.#open()
    const link = await untilCancelled(linkPromise, cancellation).catch(upstreamStopped)
    if (isFailed(link)) {
      void linkPromise.then((late) => (isFailed(late) ? undefined : late.close()))
      return link
    }
    const tools = await link.listTools(cancellation)
    void link.close()
    if (isFailed(tools)) return tools
    const byName = new Map(tools.map((tool) => [tool.name, tool]))
    return new Map(capabilities.map((id) => [id, toOffer(byName.get(id), tools)]))
  }

  async close(): Promise<void> {
    this.#closeController.abort()
    const link = await this.#link
    if (link && !isFailed(link)) await link.close()
  }

  async #try(request: UpstreamRequest): Promise<UpstreamAnswer | 'expired'> {
    if (this.#closeController.signal.aborted) return { outcome: connectionClosed(), reached: 'no' }
    const linkPromise = this.#connect()
    const link = await untilCancelled(linkPromise, request.cancellation).catch(upstreamStopped)
    if (isFailed(link)) return { outcome: link, reached: 'no' }
    const { link: state, outcome, reached } = await link.call(request)
    if (state !== 'usable') {
      // The next call opens a new connection; calls in progress on this one can finish.
      this.#forget(linkPromise)
      link.retire()
    }
    return state === 'expired' ? 'expired' : { outcome, reached }
  }

  async #retry(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const answer = await this.#try(request)
    if (answer !== 'expired') return answer
    return {
      outcome: upstreamUnavailable('The agent ended a new session at once.'),
      reached: 'no',
    }
  }

  #connect(): Promise<UpstreamLink | Failed> {
    if (this.#link) return this.#link
    const linkPromise = this.#open()
    this.#link = linkPromise
    linkPromise.then((link) => isFailed(link) && this.#forget(linkPromise))
    return linkPromise
  }

  #forget(link: Promise<UpstreamLink | Failed>): void {
    if (this.#link === link) this.#link = undefined
  }

  async #open(): Promise<UpstreamLink | Failed> {
    const {
      credential,
      egress = defaultEgress,
      limits,
      identity = { name: 'drawbridge', version: '0.0.0' },
    } = this.#options
    if (isFailed(this.#endpoint)) return this.#endpoint
    try {
      const credentialHeader = await credential?.()
      // Loaded lazily: the client SDK would slow down the start of the process.
      const { UpstreamLink } = await import('./upstream-link.ts')
      return await UpstreamLink.open({
        url: this.#endpoint,
        credential: credentialHeader,
        fetch: toGuardedFetch(egress),
        identity,
        closeSignal: this.#closeController.signal,
        limits: { answer: maxAnswerBytes, connect: connectTimeoutMs, ...limits },
      })
    } catch (error) {
      return upstreamUnauthorized(String(error))
    }
  }
}

const maxListed = 10

function toOffer(tool: Tool | undefined, tools: readonly Tool[]): Offer {
  if (tool) {
    const { inputSchema, outputSchema } = tool
    return dropUndefined({
      kind: 'offered' as const,
      input: inputSchema as JsonObject,
      output: outputSchema as JsonObject | undefined,
    })
  }
  const names = tools.slice(0, maxListed).map(({ name }) => quoteUpstreamText(name))
  const rest = tools.length > maxListed ? ` and ${tools.length - maxListed} more` : ''
  const why = tools.length === 0 ? 'it lists no tools' : `it lists ${names.join(', ')}${rest}`
  return { kind: 'missing', why }
}

const connectionClosed = () => upstreamUnavailable('The connection to the agent is closed.')
