import type { Effects } from '../../../capability/effects.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { byCodeUnit } from '../../../json/by-code-unit.ts'
import { digestJson } from '../../../json/digest-json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { IntentRef } from '../envelope/envelope.ts'
import { mayRepeat, mergeEffects } from '../to-effects.ts'
import type { Agent, Offer } from './agent.ts'

/** An agent, and its offer that matches an intent. */
export interface Candidate {
  readonly agent: Agent
  readonly offer: Offer
  /** Its entry in a decision that does not skip it; shared, to save an allocation per decision. */
  readonly status: { readonly agent: string }
}

/** An intent that can be requested, and all agents that serve it, in registry order. */
export interface Intent extends IntentRef {
  readonly candidates: readonly Candidate[]
  readonly effects: Effects
  /** A second agent may be asked after the first may have acted. */
  readonly mayRepeat: boolean
  /** The offer from `declared` in the configuration, which lists it even without an agent. */
  readonly declaration?: Offer
}

/** Immutable set of all agents; a change makes a new registry. */
export interface Registry {
  /** Digest that does not depend on the order in which the agents were registered. */
  readonly hash: string
  readonly agents: readonly Agent[]
  /** Sorted by name, then version. */
  readonly intents: readonly Intent[]
  find(ref: IntentRef): Intent | undefined
}

/** Requires unique agent names. */
export function toRegistry(
  agents: readonly Agent[],
  declarations: readonly Offer[] = [],
): Registry {
  const sortedAgents = [...agents].sort(byOrder)
  const refs = toRefs(sortedAgents, declarations)
  const intents = new Map(
    refs.map((ref) => [toKey(ref), toIntent(ref, sortedAgents, declarations)]),
  )
  return Object.freeze({
    hash: digestJson(describeAgents(sortedAgents)),
    agents: Object.freeze(sortedAgents),
    intents: Object.freeze([...intents.values()]),
    find: (ref: IntentRef) => {
      const listedIntent = intents.get(toKey(ref))
      if (listedIntent) return listedIntent
      // Agents with a wildcard also serve intents that are not listed.
      const intent = toIntent(ref, sortedAgents, [])
      return intent.candidates.length > 0 ? intent : undefined
    },
  })
}

/** Local before remote, then priority, then name: a total order, because names are unique. */
const byOrder = (a: Agent, b: Agent): number =>
  Number(a.remote) - Number(b.remote) || a.priority - b.priority || byCodeUnit(a.name, b.name)

const toKey = ({ name, version }: IntentRef): string => `${name}\n${version}`

function toRefs(agents: readonly Agent[], declarations: readonly Offer[]): IntentRef[] {
  const offers = [...agents.flatMap((agent) => agent.offers), ...declarations].filter(
    ({ intent }) => intent !== '*',
  )
  const hasVersion = (name: string) =>
    offers.some(({ intent, version }) => intent === name && version !== '*')
  const refs = offers.flatMap(({ intent: name, version }) => {
    if (version !== '*') return [{ name, version }]
    // A wildcard serves the versions others name, or 1.0 when there are none.
    return hasVersion(name) ? [] : [{ name, version: '1.0' }]
  })
  return [...new Map(refs.map((ref) => [toKey(ref), ref])).values()].sort(
    (a, b) => byCodeUnit(a.name, b.name) || byCodeUnit(a.version, b.version),
  )
}

function toIntent(
  ref: IntentRef,
  agents: readonly Agent[],
  declarations: readonly Offer[],
): Intent {
  const matches = ({ intent, version }: Offer) =>
    (intent === ref.name || intent === '*') && (version === ref.version || version === '*')
  const candidates = agents.flatMap((agent): Candidate[] => {
    // The most specific offer wins: name and version, then name, then wildcard.
    const offer =
      agent.offers.find(
        (offer) => matches(offer) && offer.intent === ref.name && offer.version !== '*',
      ) ??
      agent.offers.find((offer) => matches(offer) && offer.intent === ref.name) ??
      agent.offers.find(matches)
    const status = Object.freeze({ agent: agent.name })
    return offer ? [Object.freeze({ agent, offer, status })] : []
  })
  const declaration = declarations.find(matches)
  const effects = mergeEffects([
    ...candidates.map(({ offer }) => offer.effects),
    ...(declaration ? [declaration.effects] : []),
  ])
  return Object.freeze(
    dropUndefined({
      ...ref,
      candidates: Object.freeze(candidates),
      effects,
      mayRepeat: mayRepeat(effects),
      declaration,
    }),
  )
}

/** Everything about the agents that a decision depends on. Hashed and logged: keep the format. */
export const describeAgents = (agents: readonly Agent[]): readonly JsonObject[] =>
  agents.map(({ name, version, priority, remote, concurrency, timeout, offers }) =>
    dropUndefined({
      name,
      version,
      priority,
      remote,
      concurrency,
      timeout,
      offers: offers.map(({ intent, version, effects, fallbackAgents, strategy }) =>
        dropUndefined({ intent, version, effects: { ...effects }, fallbackAgents, strategy }),
      ),
    }),
  )
