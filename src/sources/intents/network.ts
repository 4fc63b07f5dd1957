import { Buffer } from 'node:buffer'
import { SetupError } from '../../capability/setup-error.ts'
import { isOverNats, type Remote, remoteShape } from './agents/remote-agent.ts'
import { ReplayCache } from './crypto/replay-cache.ts'
import type { SealOptions } from './crypto/seal.ts'
import type { Health } from './router/health.ts'
import { nameless, type RoutingSettings } from './router/routing-options.ts'
import type { Host } from './transport/host.ts'
import { HttpTransport } from './transport/http-transport.ts'
import { isThisMachine, toAddress } from './transport/nats/address.ts'
import type { AgentDirectory } from './transport/nats/agent-directory.ts'
import { Bus, type Serving, type Unreachable } from './transport/nats/bus.ts'
import type { Receive } from './transport/nats/responder.ts'
import { toSubject } from './transport/nats/subjects.ts'
import type { Transport } from './transport/transport.ts'

export interface NetworkOptions {
  readonly routing: RoutingSettings
  readonly sealing: SealOptions
  readonly machine: Host
  readonly health: Health
  /** Whether an agent of that name runs in this process. */
  readonly isLocal: (name: string) => boolean
  /** Other agents can be asked than before. */
  readonly onChange: () => void
}

/** All that lies beyond this process: agents that are asked there, and those who ask here. */
export class Network {
  readonly #options: NetworkOptions
  readonly #poster = new HttpTransport()
  readonly #bus: Bus
  readonly #started: number
  readonly #instance: string
  #roster: AgentDirectory | undefined

  constructor(options: NetworkOptions) {
    this.#options = options
    const { routing, sealing, machine } = options
    const { now, randomBytes, onTrouble } = machine
    this.#started = now()
    this.#instance = Buffer.from(randomBytes(8)).toString('hex')
    this.#bus = new Bus({
      node: routing.node,
      instance: this.#instance,
      sealing,
      replays: new ReplayCache(now),
      onTrouble,
    })
  }

  readonly carry = (remote: Remote): Transport =>
    isOverNats(remote)
      ? this.#bus.carry(remote, remote.node ?? remote.name)
      : this.#poster.carry(remote.url)

  /** Who has announced itself so far. The first time, everybody has a moment to do so. */
  async discover(): Promise<readonly Remote[]> {
    const { discover } = this.#options.routing
    if (!discover) return []
    if (!this.#roster) {
      const { health, onChange } = this.#options
      const isShared = (name: string) => this.#isShared(name)
      const { seal } = discover
      const options = { address: discover, key: seal?.key, health, isShared, onChange }
      this.#roster = this.#bus.discover(options)
      await this.#roster.gather()
    }
    const { url, access, token, seal } = discover
    const where = { url, access, token, ...(seal && { seal: { format: 'v2' as const, ...seal } }) }
    return this.#roster.agents.flatMap(({ node: name, capabilities }) => {
      const parsed = remoteShape.safeParse({ name, capabilities, ...where })
      return parsed.success ? [parsed.data] : []
    })
  }

  /** Lets others ask over NATS, where that is configured. */
  serve(receive: Receive, describe: () => readonly object[]): Serving | undefined {
    const { node, serve } = this.#options.routing
    if (!serve?.nats) return undefined
    const { nats, seal } = serve
    return this.#bus.serve({
      address: nats,
      // The other format binds nothing: a notice in it would prove nothing.
      key: seal?.format === 'v2' ? seal.key : undefined,
      heartbeat: nats.heartbeat,
      describe: () => ({
        node,
        instance: this.#instance,
        started: this.#started,
        capabilities: describe(),
      }),
      receive,
    })
  }

  /** The NATS servers that cannot be reached, each where it is first named. */
  async probe(): Promise<readonly UnreachableHere[]> {
    const { remote, discover, serve } = this.#options.routing
    const named = [
      ...remote.map((address, at) => ({ address, pointer: `/remote/${at}` })),
      ...(discover ? [{ address: discover, pointer: '/discover' }] : []),
      ...(serve?.nats ? [{ address: serve.nats, pointer: '/serve/nats' }] : []),
    ].filter(({ address }) => isOverNats(address))
    const probed = await Promise.all(
      named.map(async ({ address, pointer }) => {
        const unreachable = await this.#bus.probe(address)
        return unreachable ? [{ ...unreachable, pointer }] : []
      }),
    )
    const byServer = new Map<string, UnreachableHere>()
    for (const one of probed.flat().reverse()) byServer.set(`${one.server} ${one.cause}`, one)
    return [...byServer.values()].reverse()
  }

  async close(): Promise<void> {
    this.#poster.close()
    await this.#bus.close()
  }

  /** Whether others on the same subjects know an agent by the same name. */
  #isShared(name: string): boolean {
    const { routing, isLocal } = this.#options
    const { discover, remote } = routing
    if (!discover || isLocal(name)) return false
    const configured = remote.find((one) => one.name === name)
    if (!configured) return this.#roster?.agents.some(({ node }) => node === name) ?? false
    if (!isOverNats(configured) || (configured.node ?? name) !== name) return false
    const [here, there] = [toAddress(discover), toAddress(configured)]
    return here.server === there.server && here.prefix === there.prefix
  }
}

interface UnreachableHere extends Unreachable {
  readonly pointer: string
}

/** What must be right before anything is opened. */
export function checkRouting(routing: RoutingSettings, keys: ReadonlySet<string>): void {
  const { node, serve, discover, logKey } = routing
  if (serve?.nats && node === nameless)
    throw new SetupError(
      'To be asked over NATS, a node needs a name of its own ("node"): its replicas share it.',
    )
  for (const key of [serve?.seal?.key, discover?.seal?.key, logKey])
    if (key !== undefined && !keys.has(key))
      throw new SetupError(`There is no key ${JSON.stringify(key)}.`)
}

/** Whether others than this machine can ask. */
export const isPublic = ({ serve }: RoutingSettings): boolean =>
  serve?.nats !== undefined && !isThisMachine(serve.nats.url)

/** Whoever has the same one is taken for a replica. */
export function toServedSubject({ serve, node }: RoutingSettings): string | undefined {
  if (!serve?.nats) return undefined
  const { server, prefix } = toAddress(serve.nats)
  return `${server} ${toSubject(prefix, node)}`
}
