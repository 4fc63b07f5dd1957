import type { Call } from '../../capability/call.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { Change, Reading, Source } from '../../capability/source.ts'
import type { LoadedModule } from '../loaded-module.ts'
import { type AgentDefinition, toStrategy } from './agents/agent.ts'
import { checkFallbacks } from './agents/check-fallbacks.ts'
import { type AgentsReading, readAgents } from './agents/read-agents.ts'
import { type Intent, type Registry, toRegistry } from './agents/registry.ts'
import { toAnnounced } from './agents/to-announced.ts'
import { type KeyRing, toKeyRing } from './crypto/key-ring.ts'
import { ReplayCache } from './crypto/replay-cache.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import { toEnvelope, toForwarded } from './envelope/to-envelope.ts'
import { routingFailed } from './failures.ts'
import { createProtect } from './log/log-seal.ts'
import { checkRouting, isPublic, Network, toServedSubject } from './network.ts'
import { type ResumedRouting, type ResumeOptions, resumeRouting } from './resume-routing.ts'
import { routeCall, withGrace } from './route-call.ts'
import { type RoutingDecision, type RoutingPolicy, toWay } from './router/choose-agents.ts'
import { Health } from './router/health.ts'
import type { Hooks } from './router/hooks.ts'
import { Router } from './router/router.ts'
import {
  type RoutingInput,
  type RoutingSettings,
  readRouting,
  toPolicy,
} from './router/routing-options.ts'
import { toCapability } from './to-capability.ts'
import { toToolName } from './tool-name.ts'
import { FrameReceiver } from './transport/frame-receiver.ts'
import { type Host, thisHost } from './transport/host.ts'
import type { Serving } from './transport/nats/bus.ts'
import type { Receive } from './transport/nats/responder.ts'

export type AgentModules = () => Promise<readonly LoadedModule[]>

export interface IntentOptions extends RoutingInput {
  readonly agents?: readonly AgentDefinition[] | AgentModules
  readonly hooks?: Hooks
  readonly id?: string
}

/** Agents as a source: every intent that they serve is a capability. */
export const intentSource = (
  options: readonly AgentDefinition[] | IntentOptions,
  id = 'intents',
): IntentSource => new IntentSource(isList(options) ? { agents: options, id } : { id, ...options })

const isList = (
  options: readonly AgentDefinition[] | IntentOptions,
): options is readonly AgentDefinition[] => Array.isArray(options)

const longestEjection = 300_000

export class IntentSource implements Source {
  readonly id: string
  /** Opens what its log has sealed. */
  readonly keys: KeyRing
  /** Where other runtimes ask, if they may. */
  readonly desk: FrameReceiver | undefined
  readonly #agents: IntentOptions['agents']
  readonly #hooks: Hooks | undefined
  readonly #routing: RoutingSettings
  readonly #policy: RoutingPolicy
  readonly #watchers = new Set<() => void>()
  #machine: Host = thisHost
  #modules: Promise<readonly LoadedModule[]> | undefined
  #health: Health | undefined
  #network: Network | undefined
  #router: Router | undefined
  #registry: Registry = toRegistry([])
  #served: readonly Intent[] = []
  /** Whether other agents can be asked than when this was read. */
  #changed = false

  constructor({ agents = [], hooks, id = 'intents', ...routing }: IntentOptions) {
    this.id = id
    this.#agents = agents
    this.#hooks = hooks
    this.#routing = readRouting(routing)
    this.#policy = toPolicy(this.#routing)
    this.keys = toKeyRing(this.#routing.keys)
    checkRouting(this.#routing, new Set(this.keys.keys()))
    this.desk = this.#openDesk()
  }

  /** Before the first reading: the clock, the log and the rest of the world. */
  connect(machine: Partial<Host>): void {
    this.#machine = { ...thisHost, ...machine }
  }

  async read(): Promise<Reading> {
    const { agents, offers, diagnostics } = await this.#readAgents()
    const registry = toRegistry(agents, offers)
    const fallbacks = checkFallbacks(registry, this.id)
    const { now, steadyNow, log, onTrouble } = this.#machine
    const health = this.#openHealth()
    const { logKey } = this.#routing
    const router = new Router({
      registry,
      policy: this.#policy,
      health,
      ...(log && { log }),
      ...(logKey !== undefined && { protect: createProtect(this.#sealing, logKey) }),
      ...(this.#hooks && { hooks: this.#hooks }),
      now,
      steadyNow,
      onTrouble,
    })
    this.#router = router
    this.#registry = registry
    // Who has the name of one of them elsewhere may have come and gone before.
    for (const { name, remote } of registry.agents) if (!remote) health.notePresence(name, true)
    this.#served = registry.intents.filter((intent) => !fallbacks.refused.has(intent))
    const readings = this.#served.map((intent) => this.#toCapability(intent, router))
    return {
      capabilities: readings.map(({ capability }) => capability),
      diagnostics: [
        ...diagnostics,
        ...fallbacks.diagnostics,
        ...readings.flatMap((reading) => reading.diagnostics),
      ],
    }
  }

  /** Who would be asked now, without asking anybody. */
  foresee(call: Call): RoutingDecision | undefined {
    const name = call.capability.origin.name ?? call.capability.name
    const intent = this.#registry.intents.find((one) => toToolName(one) === name)
    if (!intent) return undefined
    const { strategy } = toStrategy(toWay(intent, this.#policy))
    return this.#router?.decide(toEnvelope(call, intent, strategy, this.#machine.now())).decision
  }

  /** Goes on with what another process began, where that does no harm. */
  resume(resumption: ResumeOptions['resumption'], by: string): Promise<ResumedRouting> {
    return resumeRouting({ router: this.#router, log: this.#machine.log, resumption, by })
  }

  /** Announces when other agents can be asked than before. */
  watch(announce: (change: Change) => void): () => void {
    const watcher = () => announce({ kind: 'reading' })
    this.#watchers.add(watcher)
    if (this.#changed) watcher()
    return () => this.#watchers.delete(watcher)
  }

  /** What is configured and cannot be reached at this moment. It may come, so nothing waits for it. */
  async probe(): Promise<readonly Diagnostic[]> {
    const unreachable = await this.#openNetwork().probe()
    return unreachable.map(({ server, cause, pointer }) => ({
      code: 'nats_unreachable',
      severity: 'warning',
      message: `The NATS server at ${server} cannot be reached: ${cause}. Until it can, nobody is asked over it.`,
      source: this.id,
      pointer,
    }))
  }

  /** Under which name it is asked where, over NATS. */
  get subject(): string | undefined {
    return toServedSubject(this.#routing)
  }

  /** Whether others than this machine could ask, were it served. */
  get isPublic(): boolean {
    return isPublic(this.#routing)
  }

  /** Lets others ask in other ways than HTTP, where that is configured. */
  serve(receive: Receive): Serving | undefined {
    return this.#openNetwork().serve(receive, () => toAnnounced(this.#served))
  }

  async close(): Promise<void> {
    await this.#network?.close()
  }

  async #readAgents(): Promise<AgentsReading> {
    this.#modules ??= this.#loadModules()
    const { remote, declared, node } = this.#routing
    const { now } = this.#machine
    const network = this.#openNetwork()
    const options = { carry: network.carry, sealing: this.#sealing, node, now }
    const modules = await this.#modules
    const discovered = await network.discover()
    this.#changed = false
    return readAgents({
      source: this.id,
      modules,
      remote,
      discovered,
      declared,
      options,
    })
  }

  async #loadModules(): Promise<readonly LoadedModule[]> {
    return typeof this.#agents === 'function'
      ? this.#agents()
      : [{ file: '', exports: { default: this.#agents } }]
  }

  /** What is known of the agents outlasts what is read of them. */
  #openHealth(): Health {
    const { failures, seconds } = this.#routing.ejection
    const ejection = seconds * 1000
    this.#health ??= new Health({
      failures,
      ejection,
      longest: Math.max(ejection, longestEjection),
      now: this.#machine.steadyNow,
    })
    return this.#health
  }

  #openNetwork(): Network {
    this.#network ??= new Network({
      routing: this.#routing,
      sealing: this.#sealing,
      machine: this.#machine,
      health: this.#openHealth(),
      isLocal: (name) => this.#registry.agents.some((one) => one.name === name && !one.remote),
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
      now: () => this.#machine.now(),
      randomBytes: (size: number) => this.#machine.randomBytes(size),
    }
  }

  #openDesk(): FrameReceiver | undefined {
    const { serve, node } = this.#routing
    if (!serve) return undefined
    const now = () => this.#machine.now()
    const { path, seal } = serve
    return new FrameReceiver({
      ...(path !== undefined && { path }),
      ...(seal && { seal }),
      sealing: this.#sealing,
      reception: { node, replays: new ReplayCache(now), since: now() },
      route: (envelope, call, timeout) => this.#forward(envelope, call, timeout),
      onTrouble: (error) => this.#machine.onTrouble(error),
    })
  }

  #toCapability(intent: Intent, router: Router) {
    const way = toWay(intent, this.#policy)
    const { strategy } = toStrategy(way)
    const { timeout } = this.#policy
    return toCapability(intent, {
      source: this.id,
      way,
      timeout: withGrace(timeout),
      invoke: (call) =>
        routeCall({
          router,
          source: this.id,
          call,
          translate: () => toEnvelope(call, intent, strategy, this.#machine.now()),
          timeout,
        }),
    })
  }

  async #forward(envelope: IntentEnvelope, call: Call, patience?: number): Promise<Outcome> {
    const router = this.#router
    if (!router) return routingFailed('AGENT_UNAVAILABLE', 'It is not ready yet.')
    const translate = () => toForwarded(envelope, call)
    const { timeout } = this.#policy
    return routeCall({ router, source: this.id, call, translate, timeout, patience })
  }
}
