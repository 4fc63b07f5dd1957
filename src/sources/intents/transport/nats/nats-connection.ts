import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Msg,
  MsgHdrs,
  NodeConnectionOptions,
  NatsConnection as Socket,
} from '@nats-io/transport-node'
import type { Access, Address } from './address.ts'

export interface Post {
  readonly subject: string
  readonly body: string
  readonly reply?: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Listening {
  readonly subject: string
  readonly queue?: string
  readonly hear: (message: Msg) => void
  /** Of the present connection. */
  stop?: () => void
}

export interface NatsConnectionOptions {
  readonly address: Address
  readonly onTrouble: (error: unknown) => void
}

/** Milliseconds to get through, and between two attempts when nobody asks for one. */
const patience = 2000
const pauses = [100, 250, 500, 1000, 2000]

/**
 * A connection to a NATS server that comes back by itself. The client's own way to do that keeps
 * what was not sent and sends it later; here nothing is sent that nobody waits for any more.
 */
export class NatsConnection {
  readonly #options: NatsConnectionOptions
  readonly #listenings = new Set<Listening>()
  readonly #watchers = new Set<Watcher>()
  #connection: Socket | undefined
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

  /** Settles when it is connected, or rejects with the reason why it cannot be. */
  reach(): Promise<void> {
    if (this.#connection) return Promise.resolve()
    if (this.#closed) return Promise.reject(new Error('The line is closed.'))
    this.#attempt ??= this.#connect().finally(() => {
      this.#attempt = undefined
    })
    return this.#attempt
  }

  /** Now and whenever it is connected again, until stopped. */
  subscribe(listening: Listening): () => void {
    this.#listenings.add(listening)
    if (this.#connection) this.#renew(this.#connection, listening)
    else this.reach().catch(() => {})
    return () => {
      this.#listenings.delete(listening)
      listening.stop?.()
    }
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Sends it now, or throws: nothing is kept for later. */
  send({ subject, body, reply, headers = {} }: Post): void {
    const connection = this.#connection
    if (!connection || !this.#makeHeaders) throw new Error('not connected')
    if (Buffer.byteLength(body) > largestOf(connection)) throw new TooLarge()
    const sent = this.#makeHeaders()
    for (const [name, value] of Object.entries(headers)) sent.set(name, value)
    connection.publish(subject, body, { headers: sent, ...(reply !== undefined && { reply }) })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#retry)
    await this.#attempt?.catch(() => {})
    const connection = this.#connection
    if (!connection) return
    // A server that says nothing any more must not keep anybody from ending.
    await Promise.race([connection.drain().catch(() => {}), sleep(patience, 0, { ref: false })])
    await connection.close()
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#retry)
    const { address } = this.#options
    try {
      const { connect, headers } = await load()
      this.#makeHeaders = headers
      const connection = await connect({
        servers: address.server,
        name: 'drawbridge',
        reconnect: false,
        timeout: patience,
        pingInterval: 10_000,
        ...(address.secure && { tls: {} }),
        ...(await toCredentials(address.access)),
      })
      this.#begin(connection)
      // The server has then heard what is listened to.
      await connection.flush()
    } catch (error) {
      this.#fail(error)
      throw toReason(error)
    }
  }

  #begin(connection: Socket): void {
    this.#connection = connection
    this.#failures = 0
    for (const listening of this.#listenings) this.#renew(connection, listening)
    void connection.closed().then((error) => this.#end(connection, error))
    void this.#followStatus(connection)
    for (const { up } of this.#watchers) up?.()
  }

  #end(connection: Socket, error: unknown): void {
    if (this.#connection !== connection) return
    this.#connection = undefined
    for (const listening of this.#listenings) delete listening.stop
    for (const { down } of this.#watchers) down?.()
    if (!this.#closed) this.#fail(error ?? new Error('the server ended the connection'))
  }

  #fail(error: unknown): void {
    const { address, onTrouble } = this.#options
    // Once, and not again with every attempt.
    if (this.#failures === 0)
      onTrouble(new Error(`NATS at ${address.server}`, { cause: toReason(error) }))
    const pause = pauses[Math.min(this.#failures++, pauses.length - 1)]
    if (this.#closed) return
    this.#retry = setTimeout(() => this.reach().catch(() => {}), pause).unref()
  }

  #renew(connection: Socket, listening: Listening): void {
    const { subject, queue, hear } = listening
    const subscription = connection.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => (error ? this.#options.onTrouble(error) : hear(message)),
    })
    listening.stop = () => subscription.unsubscribe()
  }

  async #followStatus(connection: Socket): Promise<void> {
    const { PermissionViolationError } = await load()
    for await (const status of connection.status()) {
      if (status.type !== 'error') continue
      const { error } = status
      this.#options.onTrouble(error)
      if (error instanceof PermissionViolationError && error.operation === 'publish')
        for (const { forbidden } of this.#watchers) forbidden?.(error.subject)
    }
  }
}

/** What a server says of a wrong password does not say whose it is, or where to put it right. */
const toReason = (error: unknown): unknown =>
  error instanceof Error && error.name === 'AuthorizationError'
    ? new Error('the server does not accept what "access" shows it, or wants to be shown something')
    : error

interface Watcher {
  /** Connected, again or for the first time. */
  readonly up?: () => void
  readonly down?: () => void
  /** Something was published that may not be. */
  readonly forbidden?: (subject: string) => void
}

/** More than the server takes. */
export class TooLarge extends Error {}

const largestOf = (connection: Socket): number => connection.info?.max_payload ?? 1024 * 1024

/** Only where there is a NATS server: nobody else pays for it. */
const load = () => import('@nats-io/transport-node')

async function toCredentials(access: Access): Promise<NodeConnectionOptions> {
  const { token, user, password, nkey, credentials } = access
  const { nkeyAuthenticator, credsAuthenticator } = await load()
  if (credentials !== undefined)
    return { authenticator: credsAuthenticator(Buffer.from(credentials)) }
  if (nkey !== undefined) return { authenticator: nkeyAuthenticator(Buffer.from(nkey)) }
  if (token !== undefined) return { token }
  return {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
  }
}
