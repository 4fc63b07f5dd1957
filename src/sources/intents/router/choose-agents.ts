import type { JsonObject } from '../../../capability/json.ts'
import { type RoutingMode, toStrategy } from '../agents/agent.ts'
import type { Candidate, Intent, Registry } from '../agents/registry.ts'
import type { IntentEnvelope, Strategy } from '../envelope/envelope.ts'
import type { ErrorCode } from '../envelope/error-codes.ts'
import type { HealthCondition, HealthSnapshot } from './health.ts'

/** The operator's settings that a decision or its execution depends on. */
export interface RoutingPolicy {
  /** Digest of the other members. */
  readonly hash: string
  readonly strategy: RoutingMode
  /** Milliseconds for all attempts together. */
  readonly timeout: number
  /** Milliseconds for one attempt, unless the agent has its own timeout. */
  readonly attemptTimeout: number
  /** Retries at the same agent before the next one is asked. */
  readonly retries: number
  /** Milliseconds before the first retry; doubled with each. */
  readonly backoff: number
}

/** Everything a decision depends on. */
export interface DecisionInputs {
  readonly envelope: IntentEnvelope
  readonly registry: Registry
  readonly health: HealthSnapshot
  readonly policy: RoutingPolicy
}

/** The agents to ask, in order, and why the others are skipped. Logged as JSON, free of time. */
export interface RoutingDecision {
  readonly intent: string
  readonly version: string
  readonly strategy: Strategy
  /** The fastest success wins. */
  readonly race?: true
  /** Origin of the order. */
  readonly order: 'target' | 'envelope' | 'capability' | 'registry'
  /** All agents that serve the intent, in registry order. */
  readonly candidates: readonly CandidateStatus[]
  /** Names of the agents to ask, in order. */
  readonly plan: readonly string[]
  readonly refusal?: RoutingRefusal
  /** Digest of the registry. */
  readonly registry: string
  /** Digest of the policy. */
  readonly policy: string
  readonly health: HealthSnapshot
}

export interface CandidateStatus {
  readonly agent: string
  /** Why the agent is not asked; absent when it is. */
  readonly skipped?: SkipReason
}

type UnavailableCondition = Exclude<HealthCondition, 'probe'>

export type SkipReason = UnavailableCondition | 'not_named' | 'not_targeted' | 'not_needed'

export interface RoutingRefusal {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

export interface DecidedRoute {
  readonly decision: RoutingDecision
  readonly plan: readonly Candidate[]
  /** Absent when the intent is unknown. */
  readonly intent?: Intent
}

/** Pure function of the envelope, the registry, the health of the agents, and the policy. */
export function chooseAgents(inputs: DecisionInputs): DecidedRoute {
  const { envelope, registry, policy, health } = inputs
  const intent = registry.find(envelope.intent)
  if (!intent || namesAgents(envelope)) return decide(intent, inputs)
  // Memoised: without named agents, a decision depends on nothing but this key and the intent.
  const decisions = cache.get(intent) ?? new Map<string, DecidedRoute>()
  cache.set(intent, decisions)
  const key = `${envelope.routing.strategy} ${policy.hash} ${registry.hash} ${toKey(health)}`
  let route = decisions.get(key)
  if (!route) {
    route = decide(intent, inputs)
    if (decisions.size >= maxCachedDecisions) decisions.clear()
    decisions.set(key, route)
  }
  return route
}

const cache = new WeakMap<Intent, Map<string, DecidedRoute>>()
/** Per intent. */
const maxCachedDecisions = 100

const namesAgents = ({ routing }: IntentEnvelope): boolean =>
  routing.targetAgent !== null || routing.fallbackAgents.length > 0

function toKey(health: HealthSnapshot): string {
  let key = ''
  for (const name in health) key += `${name} ${health[name]},`
  return key
}

function decide(intent: Intent | undefined, inputs: DecisionInputs): DecidedRoute {
  const { envelope, registry, health, policy } = inputs
  const { strategy } = envelope.routing
  const race = strategy === 'parallel' && toStrategy(findRoutingMode(intent, policy)).race
  const candidates = intent?.candidates ?? []
  const preferredOrder = toPreferredOrder(envelope, candidates)
  const unavailable = toUnavailable(health)
  const statuses = toStatuses(candidates, preferredOrder, unavailable)
  const refusal = findRefusal(envelope, intent, preferredOrder, statuses)
  const available = refusal
    ? []
    : preferredOrder.agents.filter(({ agent }) => !unavailable.has(agent.name))
  const plan = strategy === 'direct' ? available.slice(0, 1) : available
  const decision: RoutingDecision = {
    intent: envelope.intent.name,
    version: envelope.intent.version,
    strategy,
    ...(race && { race: true as const }),
    order: preferredOrder.order,
    candidates: strategy === 'direct' ? markUnneeded(statuses, plan) : statuses,
    plan: plan.map(({ agent }) => agent.name),
    ...(refusal && { refusal }),
    registry: registry.hash,
    policy: policy.hash,
    health,
  }
  return Object.freeze({ decision: Object.freeze(decision), plan, ...(intent && { intent }) })
}

/** The routing mode of an intent: its first agent's, else its declaration's, else the policy's. */
export const findRoutingMode = (intent: Intent | undefined, policy: RoutingPolicy): RoutingMode =>
  intent?.candidates[0]?.offer.strategy ?? intent?.declaration?.strategy ?? policy.strategy

type Unavailable = ReadonlyMap<string, UnavailableCondition>

/** A small Map: faster than looking up every candidate in the snapshot object. */
function toUnavailable(health: HealthSnapshot): Unavailable {
  const unavailable = new Map<string, UnavailableCondition>()
  for (const [name, condition] of Object.entries(health))
    if (condition !== 'probe') unavailable.set(name, condition)
  return unavailable
}

function toStatuses(
  candidates: readonly Candidate[],
  preferredOrder: PreferredOrder,
  unavailable: Unavailable,
): readonly CandidateStatus[] {
  const { agents, othersSkipped } = preferredOrder
  const eligible = agents.length === candidates.length ? undefined : new Set(agents)
  return candidates.map((candidate): CandidateStatus => {
    const { name } = candidate.agent
    if (eligible && !eligible.has(candidate)) return { agent: name, skipped: othersSkipped }
    const condition = unavailable.get(name)
    return condition === undefined ? candidate.status : { agent: name, skipped: condition }
  })
}

interface PreferredOrder {
  readonly order: RoutingDecision['order']
  /** The order in which the agents would be asked if all of them were healthy. */
  readonly agents: readonly Candidate[]
  /** Why the other candidates are skipped. */
  readonly othersSkipped: 'not_named' | 'not_targeted'
  /** The target agent of the envelope when it does not serve the intent. */
  readonly unknownTarget?: string
}

/** Precedence: the envelope, then the capability, then the registry. */
function toPreferredOrder(
  { routing }: IntentEnvelope,
  candidates: readonly Candidate[],
): PreferredOrder {
  const { strategy, targetAgent, fallbackAgents } = routing
  const find = (name: string) => candidates.find(({ agent }) => agent.name === name)
  const target = targetAgent === null ? undefined : find(targetAgent)
  const inRegistryOrder: PreferredOrder = {
    order: 'registry',
    agents: candidates,
    othersSkipped: 'not_named',
  }
  if (targetAgent !== null && !target)
    return {
      order: 'target',
      agents: [],
      othersSkipped: 'not_targeted',
      unknownTarget: targetAgent,
    }
  if (strategy === 'direct')
    return target
      ? { order: 'target', agents: [target], othersSkipped: 'not_targeted' }
      : inRegistryOrder
  if (strategy !== 'fallback') return inRegistryOrder
  const first = target ?? candidates[0]
  if (!first) return inRegistryOrder
  if (fallbackAgents.length > 0) {
    const namedCandidates = fallbackAgents.flatMap((name) => find(name) ?? [])
    return {
      order: 'envelope',
      agents: unique([first, ...namedCandidates]),
      othersSkipped: 'not_named',
    }
  }
  if (first.offer.fallbackAgents)
    return {
      order: 'capability',
      agents: followFallbacks(first, find),
      othersSkipped: 'not_named',
    }
  if (!target) return inRegistryOrder
  return { order: 'target', agents: unique([first, ...candidates]), othersSkipped: 'not_named' }
}

/** Depth-first: each fallback is followed by its own fallbacks. `checkFallbacks` rejects cycles. */
function followFallbacks(
  first: Candidate,
  find: (name: string) => Candidate | undefined,
): readonly Candidate[] {
  const visited = new Set<Candidate>()
  const visit = (candidate: Candidate): void => {
    if (visited.has(candidate)) return
    visited.add(candidate)
    for (const name of candidate.offer.fallbackAgents ?? []) {
      const next = find(name)
      if (next) visit(next)
    }
  }
  visit(first)
  return [...visited]
}

const unique = (candidates: readonly Candidate[]): readonly Candidate[] => [...new Set(candidates)]

const markUnneeded = (
  statuses: readonly CandidateStatus[],
  plan: readonly Candidate[],
): readonly CandidateStatus[] =>
  statuses.map((status) =>
    status.skipped || plan.some(({ agent }) => agent.name === status.agent)
      ? status
      : { agent: status.agent, skipped: 'not_needed' },
  )

function findRefusal(
  { intent: ref, routing }: IntentEnvelope,
  intent: Intent | undefined,
  { unknownTarget }: PreferredOrder,
  statuses: readonly CandidateStatus[],
): RoutingRefusal | undefined {
  const label = `${ref.name} ${ref.version}`
  if (!intent || intent.candidates.length === 0)
    return refuse('CAPABILITY_NOT_FOUND', `No agent serves ${label} now.`)
  if (unknownTarget !== undefined)
    return refuse('ROUTING_ERROR', `The agent ${unknownTarget} does not serve ${label}.`)
  const asksSeveral = routing.strategy === 'parallel' || routing.strategy === 'broadcast'
  if (asksSeveral && !intent.mayRepeat && intent.candidates.length > 1)
    return refuse(
      'VALIDATION_ERROR',
      `${label} must not happen twice, so it cannot be sent to several agents at once.`,
    )
  if (statuses.some(({ skipped }) => !skipped)) return undefined
  if (statuses.every(({ skipped }) => skipped === 'absent'))
    return refuse('AGENT_UNAVAILABLE', `No agent for ${label} is online now.`, true)
  return statuses.some(({ skipped }) => skipped === 'busy')
    ? refuse('RATE_LIMIT', `Every agent for ${label} is busy. Try again in a moment.`, true)
    : refuse(
        'AGENT_UNAVAILABLE',
        `Every agent for ${label} has failed repeatedly and is temporarily not asked. Try again later.`,
        true,
      )
}

const refuse = (code: ErrorCode, message: string, retryable = false): RoutingRefusal => ({
  code,
  message,
  retryable,
})

/** The members that `hash` is a digest of. */
export const describePolicy = ({ hash, ...rest }: RoutingPolicy): JsonObject => ({ ...rest })
