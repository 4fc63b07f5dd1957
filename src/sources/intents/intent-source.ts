import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Fault } from '../../capability/fault.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { Change, Reading, Source } from '../../capability/source.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { defaultEgress, type Egress } from '../../upstream/egress/egress.ts'
import type {
  Destination,
  UpstreamHost,
  UpstreamSource,
} from '../../upstream/egress/upstream-source.ts'
import type { LoadedModule } from '../loaded-module.ts'
import { type AgentDefinition, toStrategy } from './agents/agent.ts'
import { checkFallbacks } from './agents/check-fallbacks.ts'
import { type AgentsReading, readAgents } from './agents/read-agents.ts'
import { type Intent, type Registry, toRegistry } from './agents/registry.ts'
import { toAnnouncedCapabilities } from './agents/to-announced-capabilities.ts'
import { type KeyRing, toKeyRing } from './crypto/key-ring.ts'
import { ReplayCache } from './crypto/replay-cache.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import { toEnvelope, toForwarded } from './envelope/to-envelope.ts'
import { routingFailed } from './failures.ts'
import type { IntentOptions } from './intent-options.ts'
import { createPayloadEncryption } from './log/log-seal.ts'
import { checkRouting, isPublic, Network, toServedSubject } from './network.ts'
import { type ResumedRouting, type ResumeOptions, resumeRouting } from './resume-routing.ts'
import { routeCall, withGrace } from './route-call.ts'
import {
  findRoutingMode,
  type RoutingDecision,
  type RoutingPolicy,
} from './router/choose-agents.ts'
import { defaultEnvironment, type RouterEnvironment } from './router/environment.ts'
import { Health } from './router/health.ts'
import type { RoutingHook } from './router/hooks.ts'
import { Router } from './router/router.ts'
import { type RoutingSettings, readRouting, toPolicy } from './router/routing-options.ts'
import { toCapability } from './to-capability.ts'
import { toToolName } from './tool-name.ts'
import { FrameReceiver } from './transport/frame-receiver.ts'
import type { Serving } from './transport/nats/bus.ts'
import type { Receive } from './transport/nats/responder.ts'

/**
 * A source whose capabilities are the intents that its agents serve. An array of agents is short for
 * `{ agents }`.
 *
 * @example
 * ```ts
 * import { createDrawbridge, defineAgent, intentSource } from 'drawbridge-mcp'
 *
 * const clerk = defineAgent({
 *   name: 'clerk',
 *   capabilities: [{ intent: 'Quote', description: 'Price of an article.', effects: 'read_only' }],
 *   handle: ({ payload }) => ({ sku: payload.sku, cents: 4900 }),
 * })
 * const agents = intentSource({ agents: [clerk], strategy: 'fallback', timeout: 10_000 })
 * const bridge = createDrawbridge({ sources: [agents] })
 * ```
 */
export const intentSource = (
  options: readonly AgentDefinition[] | IntentOptions,
  id = 'intents',
): Source => new IntentSource(isList(options) ? { agents: options, id } : { id, ...options })

const isList = (
  options: readonly AgentDefinition[] | IntentOptions,
): options is readonly AgentDefinition[] => Array.isArray(options)

const maxEjectionMs = 300_000

export class IntentSource implements UpstreamSource {
  readonly id: string
  /** Keys that decrypt the payloads in its log. */
  readonly keys: KeyRing
  /** Endpoint for other runtimes; absent unless `serve` is configured. */
  readonly frameReceiver: FrameReceiver | undefined
  readonly #agents: IntentOptions['agents']
  readonly #hooks: readonly RoutingHook[] | undefined
  readonly #routing: RoutingSettings
  readonly #policy: RoutingPolicy
  readonly #watchers = new Set<() => void>()
  #host: RouterEnvironment = defaultEnvironment
  #egress: Egress = defaultEgress
  #modules: Promise<readonly LoadedModule[]> | undefined
  #health: Health | undefined
  #network: Network | undefined
  #router: Router | undefined
  #registry: Registry = toRegistry([])
  #servedIntents: readonly Intent[] = []
  /** The available agents have changed since the last reading. */
  #changed = false

  constructor({ agents = [], hooks, id = 'intents', ...routing }: IntentOptions) {
    this.id = id
    this.#agents = agents
    this.#hooks = hooks
    this.#routing = readRouting(routing)
    this.#policy = toPolicy(this.#routing)
    this.keys = toKeyRing(this.#routing.keys)
    checkRouting(this.#routing, new Set(this.keys.keys()))
    this.frameReceiver = this.#createReceiver()
  }

  /** Call before the first `read`: injects clock, randomness and log. */
  connect(host: Partial<RouterEnvironment>): void {
    this.#host = { ...defaultEnvironment, ...host }
  }

  /** Call before the first `read`: its connections are made as `egress` allows. */
  connectUpstreams({ egress, onSecret }: UpstreamHost): void {
    this.#egress = egress
    const { remote, discover } = this.#routing
    for (const token of [...remote, discover].map((one) => one?.token))
      if (token !== undefined) onSecret(token)
  }

  destinations(capability: Capability): readonly Destination[] {
    const { remote, discover } = this.#routing
    const agents = this.#findIntent(capability)?.candidates.map(({ agent }) => agent) ?? []
    return agents.flatMap((agent) => {
      const config = remote.find(({ name }) => name === agent.name) ?? discover
      if (!agent.remote || !config) return []
      const via = `agent ${agent.name}`
      const secret = { name: `the token of ${via}`, header: 'Authorization' }
      return [{ url: config.url, via, ...(config.token !== undefined && { secret }) }]
    })
  }

  async read(): Promise<Reading> {
    const { agents, offers, diagnostics } = await this.#readAgents()
    const registry = toRegistry(agents, offers)
    const fallbacks = checkFallbacks(registry, this.id)
    const { now, steadyNow, log, onOperationalError } = this.#host
    const health = this.#openHealth()
    const { logKey } = this.#routing
    const encryptPayload =
      logKey === undefined ? undefined : createPayloadEncryption(this.#sealing, logKey)
    const router = new Router(
      dropUndefined({
        registry,
        policy: this.#policy,
        health,
        log,
        encryptPayload,
        hooks: this.#hooks,
        now,
        steadyNow,
        onOperationalError,
      }),
    )
    this.#router = router
    this.#registry = registry
    // A remote node of the same name may have been marked absent before.
    for (const { name, remote } of registry.agents) if (!remote) health.setPresence(name, true)
    this.#servedIntents = registry.intents.filter((intent) => !fallbacks.cyclicIntents.has(intent))
    const readings = this.#servedIntents.map((intent) => this.#toCapability(intent, router))
    return {
      capabilities: readings.map(({ capability }) => capability),
      diagnostics: [
        ...diagnostics,
        ...fallbacks.diagnostics,
        ...readings.flatMap((reading) => reading.diagnostics),
      ],
    }
  }

  /** The decision a call would get now; asks no agent. */
  previewRoute(call: Call): RoutingDecision | undefined {
    const intent = this.#findIntent(call.capability)
    if (!intent) return undefined
    const { strategy } = toStrategy(findRoutingMode(intent, this.#policy))
    return this.#router?.decide(toEnvelope(call, intent, strategy, this.#host.now())).decision
  }

  /** Resumes an execution that another process began. */
  resume(resumption: ResumeOptions['resumption'], by: string): Promise<ResumedRouting | Fault> {
    return resumeRouting({ router: this.#router, log: this.#host.log, resumption, by })
  }

  /** Announces that the available agents have changed. */
  watch(announce: (change: Change) => void): () => void {
    const watcher = () => announce({ kind: 'reading' })
    this.#watchers.add(watcher)
    if (this.#changed) watcher()
    return () => this.#watchers.delete(watcher)
  }

  /** Warnings about NATS servers that cannot be reached now; the source works without them. */
  async probe(): Promise<readonly Diagnostic[]> {
    const unreachableServers = await this.#openNetwork().probe()
    return unreachableServers.map(({ server, cause, pointer }) => ({
      code: 'nats_unreachable',
      severity: 'warning',
      message: `The NATS server at ${server} cannot be reached: ${cause}. Agents behind it are unavailable until it can.`,
      source: this.id,
      pointer,
    }))
  }

  /** Server and subject it is served on over NATS. */
  get subject(): string | undefined {
    return toServedSubject(this.#routing)
  }

  /** Served over NATS, it could be reached from other machines. */
  get isPublic(): boolean {
    return isPublic(this.#routing)
  }

  /** Serves other runtimes over NATS, if configured. */
  serve(receive: Receive): Serving | undefined {
    return this.#openNetwork().serve(receive, () => toAnnouncedCapabilities(this.#servedIntents))
  }

  async close(): Promise<void> {
    await this.#network?.close()
  }

  #findIntent({ origin, name }: Capability): Intent | undefined {
    const declaredName = origin.name ?? name
    return this.#registry.intents.find((candidate) => toToolName(candidate) === declaredName)
  }

  async #readAgents(): Promise<AgentsReading> {
    this.#modules ??= this.#loadModules()
    const { remote, declared, node } = this.#routing
    const { now } = this.#host
    const network = this.#openNetwork()
    const options = {
      transportTo: network.transportTo,
      sealing: this.#sealing,
      egress: this.#egress,
      node,
      now,
    }
    const modules = await this.#modules
    const discoveredAgents = await network.discover()
    this.#changed = false
    return readAgents({
      source: this.id,
      modules,
      remote,
      discoveredAgents,
      declared,
      options,
    })
  }

  async #loadModules(): Promise<readonly LoadedModule[]> {
    return typeof this.#agents === 'function'
      ? this.#agents()
      : [{ file: '', exports: { default: this.#agents } }]
  }

  /** Created once: the health of the agents survives a new reading. */
  #openHealth(): Health {
    const { failures, seconds } = this.#routing.ejection
    const ejectionMs = seconds * 1000
    this.#health ??= new Health({
      failures,
      ejectionMs,
      maxEjectionMs: Math.max(ejectionMs, maxEjectionMs),
      now: this.#host.steadyNow,
    })
    return this.#health
  }

  #openNetwork(): Network {
    this.#network ??= new Network({
      routing: this.#routing,
      sealing: this.#sealing,
      host: this.#host,
      egress: this.#egress,
      health: this.#openHealth(),
      isLocal: (name) =>
        this.#registry.agents.some((agent) => agent.name === name && !agent.remote),
      onChange: () => {
        this.#changed = true
        for (const watcher of this.#watchers) watcher()
      },
    })
    return this.#network
  }

  get #sealing() {
    return {
      ring: this.keys,
      now: () => this.#host.now(),
      randomBytes: (size: number) => this.#host.randomBytes(size),
    }
  }

  #createReceiver(): FrameReceiver | undefined {
    const { serve, node } = this.#routing
    if (!serve) return undefined
    const now = () => this.#host.now()
    const { path, seal } = serve
    return new FrameReceiver(
      dropUndefined({
        path,
        seal,
        sealing: this.#sealing,
        reception: { node, replays: new ReplayCache(now), since: now() },
        route: (envelope: IntentEnvelope, call: Call, timeoutMs?: number) =>
          this.#forward(envelope, call, timeoutMs),
        onOperationalError: (error: unknown) => this.#host.onOperationalError(error),
      }),
    )
  }

  #toCapability(intent: Intent, router: Router) {
    const mode = findRoutingMode(intent, this.#policy)
    const { strategy } = toStrategy(mode)
    const { timeout } = this.#policy
    return toCapability(intent, {
      source: this.id,
      mode,
      timeoutMs: withGrace(timeout),
      invoke: (call) =>
        routeCall({
          router,
          source: this.id,
          call,
          buildEnvelope: () => toEnvelope(call, intent, strategy, this.#host.now()),
          defaultTimeoutMs: timeout,
        }),
    })
  }

  async #forward(envelope: IntentEnvelope, call: Call, callerTimeoutMs?: number): Promise<Outcome> {
    const router = this.#router
    if (!router)
      return routingFailed(
        'AGENT_UNAVAILABLE',
        'The server is still starting. Try again in a moment.',
      )
    return routeCall({
      router,
      source: this.id,
      call,
      buildEnvelope: () => toForwarded(envelope, call),
      defaultTimeoutMs: this.#policy.timeout,
      callerTimeoutMs,
    })
  }
}
