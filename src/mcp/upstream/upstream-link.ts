import {
  type CallToolResult,
  Client,
  type JsonSchemaValidator,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import type { Failed } from '../../capability/outcome.ts'
import { upstreamInvalid, upstreamStopped, upstreamUnavailable } from '../../upstream/failures.ts'
import { untilCancelled } from '../../upstream/until-cancelled.ts'
import type { Credential, UpstreamRequest } from '../../upstream/upstream.ts'
import { requestMeta } from '../wire-names.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type LinkAnswer, toCallAnswer, toConnectFailure, toTrouble } from './to-upstream-answer.ts'
import { currentExchange, UpstreamExchange } from './upstream-exchange.ts'

export interface LinkOptions {
  readonly url: URL
  readonly proof: Credential | undefined
  readonly identity: { readonly name: string; readonly version: string }
  /** Fires when nobody will want the connection any more. */
  readonly closing: AbortSignal
  readonly limits: { readonly answer: number; readonly connect: number }
}

/** The longest a timer can be set to: how long a call may take is its own business. */
const never = 2 ** 31 - 1

/** A standing connection to an agent, in the era it speaks. */
export class UpstreamLink {
  readonly #client: Client
  readonly #transport: StreamableHTTPClientTransport
  readonly #limit: number
  #calls = 0
  #retired = false

  private constructor(client: Client, transport: StreamableHTTPClientTransport, limit: number) {
    this.#client = client
    this.#transport = transport
    this.#limit = limit
  }

  static async open(options: LinkOptions): Promise<UpstreamLink | Failed> {
    const { url, proof, identity, closing, limits } = options
    const client = new Client(identity, {
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
      // What leaves is checked against what the manifest promised, which is what clients were told.
      jsonSchemaValidator: { getValidator: acceptAnything },
    })
    const exchange = new UpstreamExchange(limits.answer)
    const late = upstreamUnavailable(`There was no connection within ${limits.connect} ms.`)
    const timer = setTimeout(() => exchange.end(late), limits.connect)
    const leave = () => exchange.end(upstreamStopped())
    closing.addEventListener('abort', leave, { once: true })
    try {
      const transport = new ExchangeTransport(url, {
        fetch: boundedFetch,
        ...(proof && { requestInit: { headers: { [proof.header]: proof.value } } }),
      })
      const connecting = currentExchange.run(exchange, () =>
        client.connect(transport, { signal: exchange.signal, timeout: limits.connect }),
      )
      await untilCancelled(connecting, exchange)
      return new UpstreamLink(client, transport, limits.answer)
    } catch (error) {
      void client.close().catch(() => {})
      return toConnectFailure(error, exchange)
    } finally {
      clearTimeout(timer)
      closing.removeEventListener('abort', leave)
      exchange.finish()
    }
  }

  async call(request: UpstreamRequest): Promise<LinkAnswer> {
    const { signal } = request.cancellation
    const exchange = new UpstreamExchange(this.#limit)
    const stop = () => exchange.end(upstreamStopped())
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    this.#calls++
    try {
      return toCallAnswer(await currentExchange.run(exchange, () => this.#send(request, exchange)))
    } catch (error) {
      const hadSession = this.#transport.sessionId !== undefined
      return toTrouble(error, exchange, hadSession)
    } finally {
      signal.removeEventListener('abort', stop)
      exchange.finish()
      this.#calls--
      if (this.#retired && this.#calls === 0) void this.close()
    }
  }

  #send(request: UpstreamRequest, { signal }: UpstreamExchange): Promise<CallToolResult> {
    const { capability, input, listener, idempotencyKey, traceparent } = request
    const _meta = {
      ...(idempotencyKey !== undefined && { [requestMeta.idempotencyKey]: idempotencyKey }),
      ...(traceparent !== undefined && { traceparent }),
    }
    return this.#client.callTool(
      { name: capability, arguments: (input ?? {}) as Record<string, unknown>, _meta },
      {
        signal,
        timeout: never,
        onprogress: ({ progress, total, message }) =>
          listener.progress({
            done: progress,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message }),
          }),
      },
    )
  }

  /** Closes when the last call on it is over. */
  retire(): void {
    if (this.#retired) return
    this.#retired = true
    if (this.#calls === 0) void this.close()
  }

  async close(): Promise<void> {
    await this.#transport.terminateSession().catch(() => {})
    await this.#client.close().catch(() => {})
  }
}

const acceptAnything =
  <T>(): JsonSchemaValidator<T> =>
  (data) => ({ valid: true, data: data as T, errorMessage: undefined })

/** Ties every request to the exchange it is made for, in both eras. */
class ExchangeTransport extends StreamableHTTPClientTransport {
  override async send(...[message, options]: SendParameters): Promise<void> {
    const exchange = currentExchange.getStore()
    // An answer to something the agent asked meanwhile is no new turn of ours.
    if (!exchange || exchange.over || Array.isArray(message) || !('method' in message))
      return super.send(message, options)
    const noMore = exchange.begin()
    if (!('id' in message)) return super.send(message, options)
    const { signal } = exchange
    await super.send(message, {
      ...options,
      requestSignal: options?.requestSignal
        ? AbortSignal.any([options.requestSignal, signal])
        : signal,
      // Without this the SDK waits for ever for an answer that was cut off.
      onRequestStreamEnd: () => noMore(upstreamUnavailable('The stream ended without an answer.')),
    })
    if (!exchange.streams) noMore(upstreamInvalid('What came back was not an answer.'))
  }
}

type SendParameters = Parameters<StreamableHTTPClientTransport['send']>
