import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplayCache } from '../../crypto/replay-cache.ts'
import type { SealOptions } from '../../crypto/seal.ts'
import type { Health } from '../../router/health.ts'
import type { Transport } from '../transport.ts'
import { type Address, type AddressInput, toAddress } from './address.ts'
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
  /** This process among the replicas of the node. */
  readonly instance: string
  readonly sealing: SealOptions
  readonly replays: ReplayCache
  readonly onTrouble: (error: unknown) => void
}

export interface ServeOptions {
  readonly address: AddressInput
  readonly key: string | undefined
  readonly heartbeat: number
  readonly describe: () => object
  readonly receive: Receive
}

export interface Serving {
  /** Settles when it can be asked, or cannot be for now. */
  readonly opened: Promise<void>
  /** Takes nothing more; what was taken is answered. */
  stop(): void
  /** Gives up what is still under way. */
  abandon(): void
}

export interface DiscoverOptions {
  readonly address: AddressInput
  readonly key: string | undefined
  readonly health: Health
  readonly isShared: (agent: string) => boolean
  readonly onChange: () => void
}

export interface Unreachable {
  readonly server: string
  readonly cause: string
}

/** Milliseconds; a little more than one attempt may take. */
const longestProbe = 3000

interface Connected {
  readonly line: NatsConnection
  readonly inquiries: PendingRequests
}

/** Everything that goes over NATS, in both directions. Connects when something does. */
export class Bus {
  readonly #options: BusOptions
  readonly #connected = new Map<string, Connected>()
  readonly #stops: (() => void)[] = []
  readonly #doors: Responder[] = []

  constructor(options: BusOptions) {
    this.#options = options
  }

  /** How an agent behind an address is asked. */
  carry(input: AddressInput, agent: string): Transport {
    const address = toAddress(input)
    const subject = toSubject(address.prefix, agent)
    const { line, inquiries } = this.#connect(address)
    // So that the first question need not wait for it.
    line.reach().catch(() => {})
    return ({ body, traceparent, token, delicate, signal }) =>
      inquiries.ask({
        subject,
        body,
        headers: { traceparent, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        delicate,
        signal,
        onLeave: (reply) =>
          line.connected &&
          line.send({ subject: toCancelSubject(address.prefix, agent), body: reply }),
      })
  }

  /** Lets others ask this node, and tells them what for. */
  serve({ address: input, key, heartbeat, describe, receive }: ServeOptions): Serving {
    const address = toAddress(input)
    const { prefix } = address
    const { line } = this.#connect(address)
    const { node, instance, onTrouble } = this.#options
    const door = new Responder({ line, prefix, node, instance, receive, onTrouble })
    this.#doors.push(door)
    const notices = this.#notices(line, toRegistrySubject(prefix), key)
    const rollCall = toDiscoverySubject(prefix)
    const announcer = new Announcer({ line, notices, rollCall, describe, every: heartbeat })
    return {
      opened: line.reach().catch(() => {}),
      stop: () => {
        announcer.leave()
        door.shut()
      },
      abandon: () => door.abandon(),
    }
  }

  /** Learns who is there and who is ill, and tells others the latter. */
  discover({ address: input, key, health, isShared, onChange }: DiscoverOptions): AgentDirectory {
    const address = toAddress(input)
    const { prefix } = address
    const { line } = this.#connect(address)
    const { node, instance } = this.#options
    const roster = new AgentDirectory({
      line,
      notices: this.#notices(line, toRegistrySubject(prefix), key),
      rollCall: toDiscoverySubject(prefix),
      node,
      onChange,
      onPresence: (agent, present) => {
        if (isShared(agent)) health.notePresence(agent, present)
      },
    })
    const notices = this.#notices(line, toHealthSubject(prefix), key)
    const stop = shareHealth({ notices, health, instance, isShared })
    this.#stops.push(stop, () => roster.close())
    return roster
  }

  /** Why its server cannot be reached, if it cannot. */
  async probe(input: AddressInput): Promise<Unreachable | undefined> {
    const { server } = toAddress(input)
    const { line } = this.#connect(toAddress(input))
    const tooLong = sleep(longestProbe, new Error('it does not answer'), { ref: false })
    const reached = line.reach().catch((error: unknown) => error)
    const error = await Promise.race([reached, tooLong])
    return error === undefined ? undefined : { server, cause: toWords(error) }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await Promise.all(this.#doors.map((door) => door.settle()))
    await Promise.all([...this.#connected.values()].map(({ line }) => line.close()))
  }

  #connect(address: Address): Connected {
    const { prefix: _, ...server } = address
    const key = JSON.stringify(server)
    const known = this.#connected.get(key)
    if (known) return known
    const { onTrouble, sealing } = this.#options
    const line = new NatsConnection({ address, onTrouble })
    const newId = () => Buffer.from(sealing.randomBytes(16)).toString('hex')
    const connected = { line, inquiries: new PendingRequests(line, newId) }
    this.#connected.set(key, connected)
    return connected
  }

  #notices(line: NatsConnection, subject: string, key: string | undefined): Broadcasts {
    return new Broadcasts({ ...this.#options, line, subject, key })
  }
}

const toWords = (error: unknown): string => (error instanceof Error ? error.message : String(error))
