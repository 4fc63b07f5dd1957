import type { Call } from '../../capability/call.ts'
import { Cancellation } from '../../capability/cancellation.ts'
import { toPointer } from '../../capability/contract.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isPlainObject } from '../../capability/json.ts'
import { type LoadedModule, tellOfModule } from '../../capability/loaded-module.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { Reading, Source } from '../../capability/source.ts'
import { type Agent, type AgentDefinition, type Offer, toStrategy } from './agent.ts'
import { checkFallbacks } from './check-fallbacks.ts'
import { type Decision, type RoutingPolicy, toWay } from './decide.ts'
import type { IntentEnvelope } from './envelope.ts'
import { routingFailed } from './failures.ts'
import { FrameDesk } from './frame-desk.ts'
import { NotJson } from './frozen-copy.ts'
import { Health } from './health.ts'
import type { Hooks } from './hooks.ts'
import { Poster } from './http-poster.ts'
import { type KeyRing, toKeyRing } from './key-ring.ts'
import { createProtect } from './log-seal.ts'
import { type Machine, thisMachine } from './machine.ts'
import { readAgent, readOffers } from './read-agent.ts'
import { type Intent, type Registry, toRegistry } from './registry.ts'
import { readRemoteAgent } from './remote-agent.ts'
import { ReplayCache } from './replay-cache.ts'
import type { Resumption } from './resumption.ts'
import { type Routed, Router } from './router.ts'
import { type Routing, type RoutingInput, readRouting, toPolicy } from './routing-options.ts'
import { toCapability } from './to-capability.ts'
import { toEnvelope, toForwarded } from './to-envelope.ts'
import { toOutcome } from './to-outcome.ts'
import { toToolName } from './tool-name.ts'

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

/** Milliseconds by which the router answers before whoever called it stops waiting. */
const grace = 250
const longestEjection = 300_000

export class IntentSource implements Source {
  readonly id: string
  /** Opens what its log has sealed. */
  readonly keys: KeyRing
  /** Where other runtimes ask, if they may. */
  readonly desk: FrameDesk | undefined
  readonly #agents: IntentOptions['agents']
  readonly #hooks: Hooks | undefined
  readonly #routing: Routing
  readonly #policy: RoutingPolicy
  readonly #poster = new Poster()
  #machine: Machine = thisMachine
  #router: Router | undefined
  #registry: Registry = toRegistry([])

  constructor({ agents = [], hooks, id = 'intents', ...routing }: IntentOptions) {
    this.id = id
    this.#agents = agents
    this.#hooks = hooks
    this.#routing = readRouting(routing)
    this.#policy = toPolicy(this.#routing)
    this.keys = toKeyRing(this.#routing.keys)
    this.desk = this.#openDesk()
  }

  /** Before the first reading: the clock, the log and the rest of the world. */
  connect(machine: Partial<Machine>): void {
    this.#machine = { ...thisMachine, ...machine }
  }

  async read(): Promise<Reading> {
    const { agents, offers, diagnostics } = await this.#readAll()
    const registry = toRegistry(agents, offers)
    const fallbacks = checkFallbacks(registry, this.id)
    const { now, steadyNow, log, onTrouble } = this.#machine
    const { failures, seconds } = this.#routing.ejection
    const ejection = seconds * 1000
    const health = new Health({
      failures,
      ejection,
      longest: Math.max(ejection, longestEjection),
      now: steadyNow,
    })
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
    const readings = registry.intents
      .filter((intent) => !fallbacks.refused.has(intent))
      .map((intent) => this.#toCapability(intent, router))
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
  foresee(call: Call): Decision | undefined {
    const name = call.capability.origin.name ?? call.capability.name
    const intent = this.#registry.intents.find((one) => toToolName(one) === name)
    if (!intent) return undefined
    const { strategy } = toStrategy(toWay(intent, this.#policy))
    return this.#router?.decide(toEnvelope(call, intent, strategy, this.#machine.now())).decision
  }

  /** Goes on with what another process began, where that does no harm. */
  async resume(
    resumption: Exclude<Resumption, { kind: 'refused' }>,
    by: string,
  ): Promise<
    { readonly refused: string } | { readonly routed: Routed; readonly outcome: Outcome }
  > {
    const router = this.#router
    const { log } = this.#machine
    if (!router || !log) return { refused: 'There is no log to resume from.' }
    const { begun } = resumption
    const { id, source, address, caller, decision } = begun
    if (!(await log.claim(id))) return { refused: `Somebody else is at ${id}.` }
    const attempts = resumption.kind === 'continue' ? resumption.attempts : 0
    const cancellation = new Cancellation()
    const around = { id, source, address, caller, cancellation, resumed: { by, attempts } }
    // Its payload was opened, or was never sealed.
    const envelope = begun.envelope as IntentEnvelope
    const routed =
      resumption.kind === 'complete'
        ? await router.complete(envelope, around, { ...resumption, decision })
        : await router.route(envelope, around)
    return { routed, outcome: toOutcome(routed) }
  }

  async close(): Promise<void> {
    this.#poster.close()
  }

  get #sealing() {
    return {
      ring: this.keys,
      now: () => this.#machine.now(),
      randomBytes: (size: number) => this.#machine.randomBytes(size),
    }
  }

  #openDesk(): FrameDesk | undefined {
    const { serve, node } = this.#routing
    if (!serve) return undefined
    const now = () => this.#machine.now()
    const { path, seal } = serve
    return new FrameDesk({
      path,
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
    return toCapability(intent, {
      source: this.id,
      way,
      timeout: this.#policy.timeout + grace,
      invoke: (call) =>
        this.#route(router, call, () => toEnvelope(call, intent, strategy, this.#machine.now())),
    })
  }

  async #forward(envelope: IntentEnvelope, call: Call, timeout?: number): Promise<Outcome> {
    if (!this.#router) return routingFailed('AGENT_UNAVAILABLE', 'It is not ready yet.')
    return this.#route(this.#router, call, () => toForwarded(envelope, call), timeout)
  }

  /** Translates, routes, translates back. It decides nothing. */
  async #route(
    router: Router,
    call: Call,
    translate: () => IntentEnvelope,
    patience = Number.MAX_SAFE_INTEGER,
  ): Promise<Outcome> {
    let envelope: IntentEnvelope
    try {
      envelope = translate()
    } catch (error) {
      if (!(error instanceof NotJson)) throw error
      return routingFailed('VALIDATION_ERROR', `The arguments cannot be sent: ${error.message}.`)
    }
    const { id, address, caller, cancellation, capability } = call
    const { timeout = this.#policy.timeout + grace } = capability.rules
    const routed = await router.route(envelope, {
      id,
      source: this.id,
      address,
      caller: caller.subject,
      cancellation,
      // An operator may want it faster than the agents do.
      timeout: Math.max(1, Math.min(patience, timeout - grace)),
    })
    return toOutcome(routed)
  }

  async #readAll(): Promise<Found> {
    const readings = await this.#readings()
    const place = { source: this.id, pointer: '/declared' }
    const declared = readOffers(this.#routing.declared, place, false)
    const agents = readings.flatMap(({ agent, pointer }) => (agent ? [{ agent, pointer }] : []))
    const twins = new Set(
      agents.map(({ agent }) => agent.name).filter((name, index, all) => all.indexOf(name) < index),
    )
    const collisions = agents
      .filter(({ agent }) => twins.has(agent.name))
      .map(({ agent, pointer }) => ({
        code: 'name_collision',
        severity: 'error' as const,
        message: `There are several agents called ${agent.name}; none of them is asked.`,
        source: this.id,
        pointer,
      }))
    return {
      agents: agents.map(({ agent }) => agent).filter(({ name }) => !twins.has(name)),
      offers: declared.offers,
      diagnostics: [
        ...readings.flatMap(({ diagnostics }) => diagnostics),
        ...declared.diagnostics,
        ...collisions,
      ],
    }
  }

  async #readings(): Promise<readonly PlacedReading[]> {
    const source = this.id
    const { now } = this.#machine
    const modules: readonly LoadedModule[] =
      typeof this.#agents === 'function'
        ? await this.#agents()
        : [{ file: '', exports: { default: this.#agents } }]
    const local = modules.flatMap((module): PlacedReading[] => {
      const pointer = module.file === '' ? '' : toPointer([module.file])
      const told = { diagnostics: tellOfModule(module, source), pointer }
      const found = agentsIn(module)
      if (module.error !== undefined || module.file === '' || found.length > 0)
        return [
          told,
          ...found.map(({ candidate, path }) => {
            const pointer = toPointer(path)
            return { ...readAgent(candidate, { source, pointer }), pointer }
          }),
        ]
      const message = `${module.file} exports no agent.`
      const empty: Diagnostic = {
        code: 'module_empty',
        severity: 'error',
        message,
        source,
        pointer,
      }
      return [told, { diagnostics: [empty], pointer }]
    })
    const { remote, node } = this.#routing
    const options = { poster: this.#poster, sealing: this.#sealing, node, now }
    const elsewhere = remote.map((candidate, index) => {
      const pointer = `/remote/${index}`
      return { ...readRemoteAgent(candidate, { source, pointer }, options), pointer }
    })
    return [...local, ...elsewhere]
  }
}

interface Found {
  readonly agents: readonly Agent[]
  readonly offers: readonly Offer[]
  readonly diagnostics: readonly Diagnostic[]
}

interface PlacedReading {
  readonly agent?: Agent
  readonly diagnostics: readonly Diagnostic[]
  readonly pointer: string
}

/** One agent, or an array of them, under any name; the same one counts once. */
function agentsIn({ file, exports }: LoadedModule) {
  const place = file === '' ? [] : [file]
  const seen = new Set<unknown>()
  return Object.entries(exports)
    .flatMap(([name, value]) =>
      Array.isArray(value)
        ? value.map((candidate, index) => ({
            candidate: candidate as unknown,
            path: [...place, name, String(index)],
          }))
        : [{ candidate: value, path: [...place, name] }],
    )
    .filter(({ candidate }) => {
      const isNew = isAgent(candidate) && !seen.has(candidate)
      seen.add(candidate)
      return isNew
    })
}

/** Something meant as an agent, right or wrong: wrong ones are said, other exports are not. */
const isAgent = (value: unknown): boolean =>
  isPlainObject(value) && ('handle' in value || 'capabilities' in value)
