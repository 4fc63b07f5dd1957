import type { JsonObject } from '../../../capability/json.ts'
import { toStrategy, type Way } from '../agents/agent.ts'
import type { Candidate, Intent, Registry } from '../agents/registry.ts'
import type { IntentEnvelope, Strategy } from '../envelope/envelope.ts'
import type { ErrorCode } from '../envelope/error-codes.ts'
import type { HealthCondition, HealthSnapshot } from './health.ts'

/** What the operator says about routing. */
export interface RoutingPolicy {
  /** The same for the same policy. */
  readonly hash: string
  readonly strategy: Way
  /** Milliseconds for everything together. */
  readonly timeout: number
  /** Milliseconds for one attempt, where the agent does not say. */
  readonly attemptTimeout: number
  /** How often the same agent is asked again before the next one is. */
  readonly retries: number
  /** Milliseconds before the first of these; doubled with each. */
  readonly backoff: number
}

/** What a decision depends on, all of it. */
export interface DecisionInputs {
  readonly envelope: IntentEnvelope
  readonly registry: Registry
  readonly health: HealthSnapshot
  readonly policy: RoutingPolicy
}

/** Who is asked, in which order, and why not the others. Prints as JSON, without a clock in it. */
export interface RoutingDecision {
  readonly intent: string
  readonly version: string
  readonly strategy: Strategy
  /** The first to finish wins. */
  readonly race?: true
  /** Whose word the order is. */
  readonly order: 'target' | 'envelope' | 'capability' | 'registry'
  /** Everybody who serves the intent, in registry order. */
  readonly candidates: readonly CandidateStatus[]
  /** Who is asked, in this order. */
  readonly plan: readonly string[]
  readonly refusal?: RoutingRefusal
  readonly registry: string
  readonly policy: string
  readonly health: HealthSnapshot
}

export interface CandidateStatus {
  readonly agent: string
  /** Why it is not asked. */
  readonly skipped?: Skipped
}

export type Skipped =
  | Exclude<HealthCondition, 'probe'>
  | 'not_named'
  | 'not_targeted'
  | 'not_needed'

export interface RoutingRefusal {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable: boolean
}

export interface DecidedRoute {
  readonly decision: RoutingDecision
  readonly plan: readonly Candidate[]
  /** Absent when nobody has ever heard of it. */
  readonly intent?: Intent
}

/** A pure function of the envelope, the registry, the health of the agents, and the policy. */
export function chooseAgents(inputs: DecisionInputs): DecidedRoute {
  const { envelope, registry, policy, health } = inputs
  const intent = registry.find(envelope.intent)
  if (!intent || !isUsual(envelope)) return judge(intent, inputs)
  // What is asked again and again is thought through once: the answer is always the same.
  const known = memory.get(intent) ?? new Map<string, DecidedRoute>()
  memory.set(intent, known)
  const key = `${envelope.routing.strategy} ${policy.hash} ${registry.hash} ${toKey(health)}`
  let decided = known.get(key)
  if (!decided) {
    decided = judge(intent, inputs)
    if (known.size >= mostRemembered) known.clear()
    known.set(key, decided)
  }
  return decided
}

const memory = new WeakMap<Intent, Map<string, DecidedRoute>>()
const mostRemembered = 100

/** Nobody is asked for by name. */
const isUsual = ({ routing }: IntentEnvelope): boolean =>
  routing.targetAgent === null && routing.fallbackAgents.length === 0

function toKey(health: HealthSnapshot): string {
  let key = ''
  for (const name in health) key += `${name} ${health[name]},`
  return key
}

function judge(intent: Intent | undefined, inputs: DecisionInputs): DecidedRoute {
  const { envelope, registry, health, policy } = inputs
  const { strategy } = envelope.routing
  const race = strategy === 'parallel' && isRace(intent, policy)
  const candidates = intent?.candidates ?? []
  const wish = toWish(envelope, candidates)
  const away = toAway(health)
  const standings = toStandings(candidates, wish, away)
  const refusal = findRefusal(envelope, intent, wish, standings)
  const fit = refusal ? [] : wish.agents.filter(({ agent }) => !away.has(agent.name))
  const plan = strategy === 'direct' ? fit.slice(0, 1) : fit
  const decision: RoutingDecision = {
    intent: envelope.intent.name,
    version: envelope.intent.version,
    strategy,
    ...(race && { race: true as const }),
    order: wish.order,
    candidates: strategy === 'direct' ? withoutSpares(standings, plan) : standings,
    plan: plan.map(({ agent }) => agent.name),
    ...(refusal && { refusal }),
    registry: registry.hash,
    policy: policy.hash,
    health,
  }
  return Object.freeze({ decision: Object.freeze(decision), plan, ...(intent && { intent }) })
}

type Away = ReadonlyMap<string, Exclude<HealthCondition, 'probe'>>

/** Few, mostly: looked up a hundred times, so not in the snapshot itself. */
function toAway(health: HealthSnapshot): Away {
  const away = new Map<string, Exclude<HealthCondition, 'probe'>>()
  for (const [name, condition] of Object.entries(health))
    if (condition !== 'probe') away.set(name, condition)
  return away
}

function toStandings(
  candidates: readonly Candidate[],
  wish: Wish,
  away: Away,
): readonly CandidateStatus[] {
  const wanted = wish.agents.length === candidates.length ? undefined : new Set(wish.agents)
  return candidates.map((candidate): CandidateStatus => {
    const { name } = candidate.agent
    if (wanted && !wanted.has(candidate)) return { agent: name, skipped: wish.others }
    const condition = away.get(name)
    return condition === undefined ? candidate.standing : { agent: name, skipped: condition }
  })
}

/** How an intent is routed when nobody says otherwise. */
export const toWay = (intent: Intent | undefined, policy: RoutingPolicy): Way =>
  intent?.candidates[0]?.offer.strategy ?? intent?.declared?.strategy ?? policy.strategy

const isRace = (intent: Intent | undefined, policy: RoutingPolicy): boolean =>
  toStrategy(toWay(intent, policy)).race

interface Wish {
  readonly order: RoutingDecision['order']
  /** In the order in which they would be asked if all of them were well. */
  readonly agents: readonly Candidate[]
  /** Why the others are not. */
  readonly others: 'not_named' | 'not_targeted'
  /** Somebody is asked for who does not serve this. */
  readonly missing?: string
}

/** What the envelope says counts before what a capability says, and that before the order of all. */
function toWish({ routing }: IntentEnvelope, candidates: readonly Candidate[]): Wish {
  const { strategy, targetAgent, fallbackAgents } = routing
  const find = (name: string) => candidates.find(({ agent }) => agent.name === name)
  const target = targetAgent === null ? undefined : find(targetAgent)
  if (targetAgent !== null && !target)
    return { order: 'target', agents: [], others: 'not_targeted', missing: targetAgent }
  if (strategy === 'direct')
    return target
      ? { order: 'target', agents: [target], others: 'not_targeted' }
      : { order: 'registry', agents: candidates, others: 'not_named' }
  if (strategy !== 'fallback') return { order: 'registry', agents: candidates, others: 'not_named' }
  const first = target ?? candidates[0]
  if (!first) return { order: 'registry', agents: [], others: 'not_named' }
  const named = (names: readonly string[]) => names.flatMap((name) => find(name) ?? [])
  if (fallbackAgents.length > 0)
    return {
      order: 'envelope',
      agents: unique([first, ...named(fallbackAgents)]),
      others: 'not_named',
    }
  if (first.offer.fallbackAgents)
    return { order: 'capability', agents: follow(first, find), others: 'not_named' }
  if (!target) return { order: 'registry', agents: candidates, others: 'not_named' }
  return { order: 'target', agents: unique([first, ...candidates]), others: 'not_named' }
}

/** A fallback has fallbacks of its own; circles were refused when this was loaded. */
function follow(
  first: Candidate,
  find: (name: string) => Candidate | undefined,
): readonly Candidate[] {
  const met = new Set<Candidate>()
  const visit = (candidate: Candidate): void => {
    if (met.has(candidate)) return
    met.add(candidate)
    for (const name of candidate.offer.fallbackAgents ?? []) {
      const next = find(name)
      if (next) visit(next)
    }
  }
  visit(first)
  return [...met]
}

const unique = (candidates: readonly Candidate[]): readonly Candidate[] => [...new Set(candidates)]

const withoutSpares = (
  standings: readonly CandidateStatus[],
  plan: readonly Candidate[],
): readonly CandidateStatus[] =>
  standings.map((one) =>
    one.skipped || plan.some(({ agent }) => agent.name === one.agent)
      ? one
      : { agent: one.agent, skipped: 'not_needed' },
  )

function findRefusal(
  { intent: ref, routing }: IntentEnvelope,
  intent: Intent | undefined,
  wish: Wish,
  standings: readonly CandidateStatus[],
): RoutingRefusal | undefined {
  const called = `${ref.name} ${ref.version}`
  if (!intent || intent.candidates.length === 0)
    return refuse('CAPABILITY_NOT_FOUND', `No agent serves ${called} now.`)
  if (wish.missing !== undefined)
    return refuse('ROUTING_ERROR', `${wish.missing} does not serve ${called}.`)
  const asksSeveral = routing.strategy === 'parallel' || routing.strategy === 'broadcast'
  if (asksSeveral && !intent.mayRepeat && intent.candidates.length > 1)
    return refuse(
      'VALIDATION_ERROR',
      `${called} must not happen twice, so it cannot be asked of several agents at once.`,
    )
  if (standings.some(({ skipped }) => !skipped)) return undefined
  if (standings.every(({ skipped }) => skipped === 'absent'))
    return refuse('AGENT_UNAVAILABLE', `No agent for ${called} is there now.`, true)
  return standings.some(({ skipped }) => skipped === 'busy')
    ? refuse('RATE_LIMIT', `Every agent for ${called} is busy. Try again in a moment.`, true)
    : refuse(
        'AGENT_UNAVAILABLE',
        `Every agent for ${called} has failed repeatedly and is left alone for a while.`,
        true,
      )
}

const refuse = (code: ErrorCode, message: string, retryable = false): RoutingRefusal => ({
  code,
  message,
  retryable,
})

/** All of a policy that a decision or its execution depends on. */
export const describePolicy = ({ hash, ...rest }: RoutingPolicy): JsonObject => ({ ...rest })
