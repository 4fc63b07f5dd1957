import { setTimeout as sleep } from 'node:timers/promises'
import type { Egress } from '../../../../upstream/egress/egress.ts'
import type { ReplayCache } from '../../crypto/replay-cache.ts'
import type { SealOptions } from '../../crypto/seal.ts'
import type { Health } from '../../router/health.ts'
import type { Transport } from '../transport.ts'
import { type NatsAddress, type NatsAddressInput, toAddress } from './address.ts'
import { AgentDirectory } from './agent-directory.ts'
import { Announcer } from './announcer.ts'
import { Broadcasts } from './broadcasts.ts'
import { NatsConnection } from './nats-connection.ts'
import { PendingRequests } from './pending-requests.ts'
import { type Receive, Responder } from './responder.ts'
import { shareHealth } from './shared-health.ts'
import {
  toCancelSubject,
  toDiscoverySubject,
  toHealthSubject,
  toRegistrySubject,
  toSubject,
} from './subjects.ts'

export interface BusOptions {
  readonly node: string
  /** Id of this process among the replicas of the node. */
  readonly instance: string
  readonly sealing: SealOptions
  readonly replays: ReplayCache
  readonly egress: Egress
  readonly onOperationalError: (error: unknown) => void
}

export interface ServeOptions {
  readonly address: NatsAddressInput
  readonly key: string | undefined
  readonly heartbeatMs: number
  readonly describe: () => object
  readonly receive: Receive
}

export interface Serving {
  /** Resolves after the first attempt to connect, successful or not. */
  readonly firstAttempt: Promise<void>
  /** Accepts no new requests; those in progress are answered. */
  stop(): void
  /** Cancels the requests in progress. */
  abandon(): void
}

export interface DiscoverOptions {
  readonly address: NatsAddressInput
  readonly key: string | undefined
  readonly health: Health
  readonly isShared: (agent: string) => boolean
  readonly onChange: () => void
}

export interface UnreachableServer {
  readonly server: string
  readonly cause: string
}

/** A little more than the timeout of one connection attempt. */
const probeTimeoutMs = 3000

interface ServerConnection {
  readonly connection: NatsConnection
  readonly requests: PendingRequests
}

/** All NATS traffic, in both directions. One connection per server, opened on first use. */
export class Bus {
  readonly #options: BusOptions
  readonly #connections = new Map<string, ServerConnection>()
  readonly #stops: (() => void)[] = []
  readonly #responders: Responder[] = []

  constructor(options: BusOptions) {
    this.#options = options
  }

  transportTo(input: NatsAddressInput, agent: string): Transport {
    const address = toAddress(input)
    const subject = toSubject(address.prefix, agent)
    const { connection, requests } = this.#open(address)
    // Connect early, so that the first request does not wait.
    connection.connect().catch(() => {})
    return ({ body, traceparent, token, mustNotRepeat, signal }) =>
      requests.send({
        subject,
        body,
        headers: { traceparent, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        mustNotRepeat,
        signal,
        onAbandon: (reply) =>
          connection.connected &&
          connection.send({ subject: toCancelSubject(address.prefix, agent), body: reply }),
      })
  }

  /** Answers requests to this node, and announces what it serves. */
  serve({ address: input, key, heartbeatMs, describe, receive }: ServeOptions): Serving {
    const address = toAddress(input)
    const { prefix } = address
    const { connection } = this.#open(address)
    const { node, instance, onOperationalError } = this.#options
    const responder = new Responder({
      connection,
      prefix,
      node,
      instance,
      receive,
      onOperationalError,
    })
    this.#responders.push(responder)
    const announcer = new Announcer({
      connection,
      broadcasts: this.#createBroadcasts(connection, toRegistrySubject(prefix), key),
      discoverySubject: toDiscoverySubject(prefix),
      describe,
      heartbeatMs,
    })
    return {
      firstAttempt: connection.connect().catch(() => {}),
      stop: () => {
        announcer.leave()
        responder.stop()
      },
      abandon: () => responder.abandon(),
    }
  }

  /** Follows the announcements of agents, and shares their health with other routers. */
  discover({ address: input, key, health, isShared, onChange }: DiscoverOptions): AgentDirectory {
    const address = toAddress(input)
    const { prefix } = address
    const { connection } = this.#open(address)
    const { node, instance } = this.#options
    const directory = new AgentDirectory({
      connection,
      broadcasts: this.#createBroadcasts(connection, toRegistrySubject(prefix), key),
      discoverySubject: toDiscoverySubject(prefix),
      node,
      onChange,
      onPresence: (agent, isPresent) => {
        if (isShared(agent)) health.setPresence(agent, isPresent)
      },
    })
    const broadcasts = this.#createBroadcasts(connection, toHealthSubject(prefix), key)
    const stop = shareHealth({ broadcasts, health, instance, isShared })
    this.#stops.push(stop, () => directory.close())
    return directory
  }

  /** Why the server cannot be reached; `undefined` when it can. */
  async probe(input: NatsAddressInput): Promise<UnreachableServer | undefined> {
    const address = toAddress(input)
    const { connection } = this.#open(address)
    const timeout = sleep(probeTimeoutMs, new Error('it does not answer'), { ref: false })
    const connectError = connection.connect().catch((error: unknown) => error)
    const error = await Promise.race([connectError, timeout])
    return error === undefined ? undefined : { server: address.server, cause: toText(error) }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await Promise.all(this.#responders.map((responder) => responder.settle()))
    await Promise.all([...this.#connections.values()].map(({ connection }) => connection.close()))
  }

  /** Addresses that differ only in their prefix share a connection. */
  #open(address: NatsAddress): ServerConnection {
    const { prefix: _, ...server } = address
    const key = JSON.stringify(server)
    const existing = this.#connections.get(key)
    if (existing) return existing
    const { onOperationalError, sealing, egress } = this.#options
    const connection = new NatsConnection({ address, egress, onOperationalError })
    const newId = () => Buffer.from(sealing.randomBytes(16)).toString('hex')
    const serverConnection = { connection, requests: new PendingRequests(connection, newId) }
    this.#connections.set(key, serverConnection)
    return serverConnection
  }

  #createBroadcasts(
    connection: NatsConnection,
    subject: string,
    key: string | undefined,
  ): Broadcasts {
    return new Broadcasts({ ...this.#options, connection, subject, key })
  }
}

const toText = (error: unknown): string => (error instanceof Error ? error.message : String(error))
