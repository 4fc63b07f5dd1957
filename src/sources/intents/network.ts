import { Buffer } from 'node:buffer'
import { SetupError } from '../../capability/setup-error.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Egress } from '../../upstream/egress/egress.ts'
import { isLoopbackUrl } from '../../upstream/loopback.ts'
import { type RemoteAgentConfig, remoteShape } from './agents/agent-shapes.ts'
import { isOverNats } from './agents/remote-agent.ts'
import { ReplayCache } from './crypto/replay-cache.ts'
import type { SealOptions } from './crypto/seal.ts'
import type { RouterEnvironment } from './router/environment.ts'
import type { Health } from './router/health.ts'
import { defaultNode, type RoutingSettings } from './router/routing-options.ts'
import { HttpTransport } from './transport/http-transport.ts'
import { toAddress } from './transport/nats/address.ts'
import type { AgentDirectory } from './transport/nats/agent-directory.ts'
import { Bus, type Serving, type UnreachableServer } from './transport/nats/bus.ts'
import type { Receive } from './transport/nats/responder.ts'
import { toSubject } from './transport/nats/subjects.ts'
import type { Transport } from './transport/transport.ts'

export interface NetworkOptions {
  readonly routing: RoutingSettings
  readonly sealing: SealOptions
  readonly host: RouterEnvironment
  readonly egress: Egress
  readonly health: Health
  /** An agent of that name runs in this process. */
  readonly isLocal: (name: string) => boolean
  /** Called when the discovered agents have changed. */
  readonly onChange: () => void
}

/** Transports to remote agents, discovery of agents, and serving over NATS. */
export class Network {
  readonly #options: NetworkOptions
  readonly #http: HttpTransport
  readonly #bus: Bus
  readonly #startedAt: number
  readonly #instance: string
  #directory: AgentDirectory | undefined

  constructor(options: NetworkOptions) {
    this.#options = options
    const { routing, sealing, host, egress } = options
    this.#http = new HttpTransport(egress)
    const { now, randomBytes, onOperationalError } = host
    this.#startedAt = now()
    this.#instance = Buffer.from(randomBytes(8)).toString('hex')
    this.#bus = new Bus({
      node: routing.node,
      instance: this.#instance,
      sealing,
      replays: new ReplayCache(now),
      egress,
      onOperationalError,
    })
  }

  readonly transportTo = (remote: RemoteAgentConfig): Transport =>
    isOverNats(remote)
      ? this.#bus.transportTo(remote, remote.node ?? remote.name)
      : this.#http.transportTo(remote.url)

  /** The agents that have announced themselves. The first call waits for the answers to a query. */
  async discover(): Promise<readonly RemoteAgentConfig[]> {
    const { discover } = this.#options.routing
    if (!discover) return []
    if (!this.#directory) {
      const { health, onChange } = this.#options
      const isShared = (name: string) => this.#isShared(name)
      const { seal } = discover
      const options = { address: discover, key: seal?.key, health, isShared, onChange }
      this.#directory = this.#bus.discover(options)
      await this.#directory.query()
    }
    const { url, access, token, seal } = discover
    const connection = dropUndefined({
      url,
      access,
      token,
      seal: seal && { format: 'v2' as const, ...seal },
    })
    return this.#directory.agents.flatMap(({ node: name, capabilities }) => {
      const parsed = remoteShape.safeParse({ name, capabilities, ...connection })
      return parsed.success ? [parsed.data] : []
    })
  }

  /** Serves other runtimes over NATS, if configured. */
  serve(receive: Receive, describe: () => readonly object[]): Serving | undefined {
    const { node, serve } = this.#options.routing
    if (!serve?.nats) return undefined
    const { nats, seal } = serve
    return this.#bus.serve({
      address: nats,
      // v1 authenticates no sender or time, so a sealed announcement in it would prove nothing.
      key: seal?.format === 'v2' ? seal.key : undefined,
      heartbeatMs: nats.heartbeat,
      describe: () => ({
        node,
        instance: this.#instance,
        started: this.#startedAt,
        capabilities: describe(),
      }),
      receive,
    })
  }

  /** The NATS servers that cannot be reached, each with the first place that configures it. */
  async probe(): Promise<readonly UnreachableConfig[]> {
    const { remote, discover, serve } = this.#options.routing
    const addresses = [
      ...remote.map((address, index) => ({ address, pointer: `/remote/${index}` })),
      ...(discover ? [{ address: discover, pointer: '/discover' }] : []),
      ...(serve?.nats ? [{ address: serve.nats, pointer: '/serve/nats' }] : []),
    ].filter(({ address }) => isOverNats(address))
    const results = await Promise.all(
      addresses.map(async ({ address, pointer }) => {
        const unreachable = await this.#bus.probe(address)
        return unreachable ? [{ ...unreachable, pointer }] : []
      }),
    )
    const byServer = new Map<string, UnreachableConfig>()
    for (const entry of results.flat().reverse())
      byServer.set(`${entry.server} ${entry.cause}`, entry)
    return [...byServer.values()].reverse()
  }

  async close(): Promise<void> {
    this.#http.close()
    await this.#bus.close()
  }

  /** Routers on the same subjects know the agent by the same name, so its health can be shared. */
  #isShared(name: string): boolean {
    const { routing, isLocal } = this.#options
    const { discover, remote } = routing
    if (!discover || isLocal(name)) return false
    const config = remote.find((agent) => agent.name === name)
    if (!config) return this.#directory?.agents.some(({ node }) => node === name) ?? false
    if (!isOverNats(config) || (config.node ?? name) !== name) return false
    const [discovery, agent] = [toAddress(discover), toAddress(config)]
    return discovery.server === agent.server && discovery.prefix === agent.prefix
  }
}

interface UnreachableConfig extends UnreachableServer {
  readonly pointer: string
}

/** Checks settings that depend on each other, before anything is opened. */
export function checkRouting(routing: RoutingSettings, keys: ReadonlySet<string>): void {
  const { node, serve, discover, logKey } = routing
  if (serve?.nats && node === defaultNode)
    throw new SetupError(
      'Serving over NATS needs a "node" name: replicas of the same node share it.',
    )
  for (const key of [serve?.seal?.key, discover?.seal?.key, logKey])
    if (key !== undefined && !keys.has(key))
      throw new SetupError(`There is no key ${JSON.stringify(key)} in "keys".`)
}

/** Other machines can reach it over NATS. */
export const isPublic = ({ serve }: RoutingSettings): boolean =>
  serve?.nats !== undefined && !isLoopbackUrl(serve.nats.url)

/** Sources with the same server and subject act as replicas of each other. */
export function toServedSubject({ serve, node }: RoutingSettings): string | undefined {
  if (!serve?.nats) return undefined
  const { server, prefix } = toAddress(serve.nats)
  return `${server} ${toSubject(prefix, node)}`
}
