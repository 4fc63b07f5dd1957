import {
  type CallToolResult,
  Client,
  type JsonSchemaValidator,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Failed } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { GuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import { upstreamInvalid, upstreamStopped, upstreamUnavailable } from '../../upstream/failures.ts'
import { untilCancelled } from '../../upstream/until-cancelled.ts'
import type { Credential, UpstreamRequest } from '../../upstream/upstream.ts'
import { requestMeta } from '../wire-names.ts'
import { createBoundedFetch } from './bounded-fetch.ts'
import {
  type LinkAnswer,
  toCallAnswer,
  toConnectFailure,
  toLinkFailure,
} from './to-upstream-answer.ts'
import { currentExchange, UpstreamExchange } from './upstream-exchange.ts'

export interface LinkOptions {
  readonly url: URL
  readonly credential: Credential | undefined
  readonly fetch: GuardedFetch
  readonly identity: { readonly name: string; readonly version: string }
  /** Is aborted when the connection is no longer needed. */
  readonly closeSignal: AbortSignal
  readonly limits: { readonly answer: number; readonly connect: number }
}

/** The largest delay that a timer accepts: the pipeline limits the time of calls, not the SDK. */
const maxTimerMs = 2 ** 31 - 1

/** A persistent connection to an agent, in the protocol era that it supports. */
export class UpstreamLink {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport
  readonly #maxAnswerBytes: number
  #activeCalls = 0
  #retired = false

  private constructor(
    client: Client,
    transport: StreamableHTTPClientTransport,
    maxAnswerBytes: number,
  ) {
    this.#client = client
    this.#transport = transport
    this.#maxAnswerBytes = maxAnswerBytes
  }

  static async open(options: LinkOptions): Promise<UpstreamLink | Failed> {
    const { url, credential, identity, closeSignal, limits } = options
    const client = new Client(identity, {
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
      // The pipeline checks answers against the manifest's schema; the agent's own is not used.
      jsonSchemaValidator: { getValidator: acceptAnything },
    })
    const exchange = new UpstreamExchange(limits.answer)
    const timeoutFailure = upstreamUnavailable(
      `The connection timed out after ${limits.connect} ms.`,
    )
    const timer = setTimeout(() => exchange.end(timeoutFailure), limits.connect)
    const stop = () => exchange.end(upstreamStopped())
    closeSignal.addEventListener('abort', stop, { once: true })
    try {
      const requestInit = credential && { headers: { [credential.header]: credential.value } }
      const transport = new ExchangeTransport(
        url,
        dropUndefined({ fetch: createBoundedFetch(options.fetch), requestInit }),
      )
      const connection = currentExchange.run(exchange, () =>
        client.connect(transport, { signal: exchange.signal, timeout: limits.connect }),
      )
      await untilCancelled(connection, exchange)
      return new UpstreamLink(client, transport, limits.answer)
    } catch (error) {
      void client.close().catch(() => {})
      return toConnectFailure(error, exchange)
    } finally {
      clearTimeout(timer)
      closeSignal.removeEventListener('abort', stop)
      exchange.finish()
    }
  }

  async call(request: UpstreamRequest): Promise<LinkAnswer> {
    const { signal } = request.cancellation
    const exchange = new UpstreamExchange(this.#maxAnswerBytes)
    const stop = () => exchange.end(upstreamStopped())
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    this.#activeCalls++
    try {
      return toCallAnswer(await currentExchange.run(exchange, () => this.#send(request, exchange)))
    } catch (error) {
      const hadSession = this.#transport.sessionId !== undefined
      return toLinkFailure(error, exchange, hadSession)
    } finally {
      signal.removeEventListener('abort', stop)
      exchange.finish()
      this.#activeCalls--
      if (this.#retired && this.#activeCalls === 0) void this.close()
    }
  }

  /** All pages of `tools/list`, within the size limit of one answer. */
  async listTools({ signal }: Cancellation): Promise<readonly Tool[] | Failed> {
    const exchange = new UpstreamExchange(this.#maxAnswerBytes)
    const stop = () => exchange.end(upstreamStopped())
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    try {
      const options = {
        signal: exchange.signal,
        timeout: maxTimerMs,
        cacheMode: 'refresh',
      } as const
      const { tools } = await currentExchange.run(exchange, () =>
        this.#client.listTools(undefined, options),
      )
      return tools
    } catch (error) {
      return toConnectFailure(error, exchange)
    } finally {
      signal.removeEventListener('abort', stop)
      exchange.finish()
    }
  }

  #send(request: UpstreamRequest, { signal }: UpstreamExchange): Promise<CallToolResult> {
    const { capability, input, listener, idempotencyKey, traceparent } = request
    const _meta = dropUndefined({ [requestMeta.idempotencyKey]: idempotencyKey, traceparent })
    return this.#client.callTool(
      { name: capability, arguments: (input ?? {}) as Record<string, unknown>, _meta },
      {
        signal,
        timeout: maxTimerMs,
        onprogress: ({ progress, total, message }) =>
          listener.progress(dropUndefined({ done: progress, total, message })),
      },
    )
  }

  /** Closes the connection after its last call. */
  retire(): void {
    if (this.#retired) return
    this.#retired = true
    if (this.#activeCalls === 0) void this.close()
  }

  async close(): Promise<void> {
    await this.#transport.terminateSession().catch(() => {})
    await this.#client.close().catch(() => {})
  }
}

const acceptAnything =
  <T>(): JsonSchemaValidator<T> =>
  (data) => ({ valid: true, data: data as T, errorMessage: undefined })

/** Binds every request to the exchange that it belongs to, in both eras. */
class ExchangeTransport extends StreamableHTTPClientTransport {
  override async send(...[message, options]: SendParameters): Promise<void> {
    const exchange = currentExchange.getStore()
    // A response to a request of the agent expects no answer of its own.
    if (!exchange || exchange.isOver || Array.isArray(message) || !('method' in message))
      return super.send(message, options)
    const endUnanswered = exchange.begin()
    if (!('id' in message)) return super.send(message, options)
    const { signal } = exchange
    await super.send(message, {
      ...options,
      requestSignal: options?.requestSignal
        ? AbortSignal.any([options.requestSignal, signal])
        : signal,
      // Without this, the SDK waits forever for the rest of a truncated stream.
      onRequestStreamEnd: () =>
        endUnanswered(upstreamUnavailable('The stream ended without an answer.')),
    })
    if (!exchange.isEventStream)
      endUnanswered(upstreamInvalid('The response did not contain an answer.'))
  }
}

type SendParameters = Parameters<StreamableHTTPClientTransport['send']>
