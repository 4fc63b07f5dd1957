import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  NatsConnection as ClientConnection,
  Msg,
  MsgHdrs,
  NodeConnectionOptions,
  TlsOptions,
} from '@nats-io/transport-node'
import { dropUndefined } from '../../../../json/drop-undefined.ts'
import type { Egress } from '../../../../upstream/egress/egress.ts'
import type { NatsAddress, NatsCredentials } from './address.ts'

export interface OutgoingMessage {
  readonly subject: string
  readonly body: string
  readonly reply?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Subscription {
  readonly subject: string
  /** Queue group: each message goes to one of its subscribers. */
  readonly queue?: string
  readonly onMessage: (message: Msg) => void
  /** Unsubscribes from the current connection. */
  stop?: () => void
}

export interface NatsConnectionOptions {
  readonly address: NatsAddress
  readonly egress: Egress
  readonly onOperationalError: (error: unknown) => void
}

const connectTimeoutMs = 2000
const drainTimeoutMs = 2000
/** Pauses between automatic attempts to reconnect; the last one repeats. */
const reconnectDelaysMs = [100, 250, 500, 1000, 2000]

/**
 * A connection to a NATS server that reconnects by itself. The client's own reconnect is off: it
 * buffers messages and sends them later, when their senders have long given up.
 */
export class NatsConnection {
  readonly #options: NatsConnectionOptions
  readonly #subscriptions = new Set<Subscription>()
  readonly #watchers = new Set<Watcher>()
  #connection: ClientConnection | undefined
  #makeHeaders: (() => MsgHdrs) | undefined
  #attempt: Promise<void> | undefined
  #failures = 0
  #retry: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: NatsConnectionOptions) {
    this.#options = options
  }

  get connected(): boolean {
    return this.#connection !== undefined
  }

  /** Resolves when connected; rejects with the reason when one attempt has failed. */
  connect(): Promise<void> {
    if (this.#connection) return Promise.resolve()
    if (this.#closed) return Promise.reject(new Error('The connection is closed.'))
    this.#attempt ??= this.#attemptConnect().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  /** Subscribes now and after every reconnect, until stopped. */
  subscribe(subscription: Subscription): () => void {
    this.#subscriptions.add(subscription)
    if (this.#connection) this.#renew(this.#connection, subscription)
    else this.connect().catch(() => {})
    return () => {
      this.#subscriptions.delete(subscription)
      subscription.stop?.()
    }
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Sends now or throws; messages are not buffered. */
  send({ subject, body, reply, headers = {} }: OutgoingMessage): void {
    const connection = this.#connection
    if (!connection || !this.#makeHeaders) throw new Error('not connected')
    if (Buffer.byteLength(body) > maxPayloadBytes(connection)) throw new MessageTooLargeError()
    const natsHeaders = this.#makeHeaders()
    for (const [name, value] of Object.entries(headers)) natsHeaders.set(name, value)
    connection.publish(subject, body, {
      headers: natsHeaders,
      ...(reply !== undefined && { reply }),
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#attempt?.catch(() => {})
    const connection = this.#connection
    if (!connection) return
    // A server that no longer responds must not delay the shutdown.
    await Promise.race([
      connection.drain().catch(() => {}),
      sleep(drainTimeoutMs, 0, { ref: false }),
    ])
    await connection.close()
  }

  async #attemptConnect(): Promise<void> {
    clearTimeout(this.#retry)
    const { address, egress } = this.#options
    try {
      const servers = await toServers(address, egress)
      const { connect, headers } = await load()
      this.#makeHeaders = headers
      const credentials = await toCredentials(address.access)
      const connection = await connect(
        dropUndefined({
          servers,
          name: 'drawbridge',
          reconnect: false,
          timeout: connectTimeoutMs,
          pingInterval: 10_000,
          // The servers are addresses: TLS must check the certificate for the host name.
          tls: address.secure ? toTlsOptions(address) : undefined,
          ignoreClusterUpdates: true,
          ...credentials,
        }),
      )
      this.#begin(connection)
      // The flush makes sure that the server has processed the subscriptions.
      await connection.flush()
    } catch (error) {
      this.#fail(error)
      throw toReason(error)
    }
  }

  #begin(connection: ClientConnection): void {
    this.#connection = connection
    this.#failures = 0
    for (const subscription of this.#subscriptions) this.#renew(connection, subscription)
    void connection.closed().then((error) => this.#end(connection, error))
    void this.#followStatus(connection)
    for (const { onConnect } of this.#watchers) onConnect?.()
  }

  #end(connection: ClientConnection, error: unknown): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    for (const subscription of this.#subscriptions) delete subscription.stop
    for (const { onDisconnect } of this.#watchers) onDisconnect?.()
    if (!this.#closed) this.#fail(error ?? new Error('the server closed the connection'))
  }

  #fail(error: unknown): void {
    const { address, onOperationalError } = this.#options
    // Report the first failure only, not every attempt to reconnect.
    if (this.#failures === 0)
      onOperationalError(new Error(`NATS at ${address.server}`, { cause: toReason(error) }))
    const delay = reconnectDelaysMs[Math.min(this.#failures++, reconnectDelaysMs.length - 1)]
    if (this.#closed) return
    this.#retry = setTimeout(() => this.connect().catch(() => {}), delay).unref()
  }

  #renew(connection: ClientConnection, subscription: Subscription): void {
    const { subject, queue, onMessage } = subscription
    const callback = (error: unknown, message: Msg) =>
      error ? this.#options.onOperationalError(error) : onMessage(message)
    const active = connection.subscribe(subject, dropUndefined({ queue, callback }))
    subscription.stop = () => active.unsubscribe()
  }

  async #followStatus(connection: ClientConnection): Promise<void> {
    const { PermissionViolationError } = await load()
    for await (const status of connection.status()) {
      if (status.type !== 'error') continue
      const { error } = status
      this.#options.onOperationalError(error)
      if (error instanceof PermissionViolationError && error.operation === 'publish')
        for (const { onPublishDenied } of this.#watchers) onPublishDenied?.(error.subject)
    }
  }
}

/** The checked addresses of the server, so that the client resolves no name by itself. */
async function toServers(address: NatsAddress, egress: Egress): Promise<string[]> {
  const { hostname, port } = new URL(`nats://${address.server}`)
  const addresses = await egress.resolve(hostname)
  return addresses.map(({ address, family }) =>
    family === 6 ? `[${address}]:${port}` : `${address}:${port}`,
  )
}

/** `servername` is not in the client's types, and is passed on to `tls.connect`. */
function toTlsOptions({ server }: NatsAddress): TlsOptions {
  const { hostname } = new URL(`nats://${server}`)
  return isIP(hostname.replace(/[[\]]/g, '')) === 0 ? ({ servername: hostname } as TlsOptions) : {}
}

/** The client's authorization error does not name the setting to correct. */
const toReason = (error: unknown): unknown =>
  error instanceof Error && error.name === 'AuthorizationError'
    ? new Error('the server rejected the credentials: check "access"')
    : error

interface Watcher {
  /** Also called after the first connect. */
  readonly onConnect?: () => void
  readonly onDisconnect?: () => void
  /** The server has denied publishing to the subject. */
  readonly onPublishDenied?: (subject: string) => void
}

/** The message exceeds the server's `max_payload`. */
export class MessageTooLargeError extends Error {}

const maxPayloadBytes = (connection: ClientConnection): number =>
  connection.info?.max_payload ?? 1024 * 1024

/** Loaded on first use: most installations have no NATS server. */
const load = () => import('@nats-io/transport-node')

async function toCredentials(access: NatsCredentials): Promise<NodeConnectionOptions> {
  const { token, user, password, nkey, credentials } = access
  const { nkeyAuthenticator, credsAuthenticator } = await load()
  if (credentials !== undefined)
    return { authenticator: credsAuthenticator(Buffer.from(credentials)) }
  if (nkey !== undefined) return { authenticator: nkeyAuthenticator(Buffer.from(nkey)) }
  if (token !== undefined) return { token }
  return dropUndefined({ user, pass: password })
}
