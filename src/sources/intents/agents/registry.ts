import { digestJson } from '../../../capability/digest-json.ts'
import type { Effects } from '../../../capability/effects.ts'
import { byCodePoint, type JsonObject } from '../../../capability/json.ts'
import type { IntentRef } from '../envelope/envelope.ts'
import { mayRepeat, mergeEffects } from '../to-effects.ts'
import type { Agent, Offer } from './agent.ts'

/** An agent and the offer of it that fits an intent. */
export interface Candidate {
  readonly agent: Agent
  readonly offer: Offer
  /** How it stands in a decision, unless there is more to say. */
  readonly standing: { readonly agent: string }
}

/** An intent that can be asked for, and everybody who serves it, in order. */
export interface Intent extends IntentRef {
  readonly candidates: readonly Candidate[]
  readonly effects: Effects
  /** Whether a second agent may be tried after the first may have acted. */
  readonly mayRepeat: boolean
  /** What is known of it besides, where no agent serves it now. */
  readonly declared?: Offer
}

/** All agents at one moment. Never changes; a change is another registry. */
export interface Registry {
  /** The same for the same agents, in whatever order they were given. */
  readonly hash: string
  readonly agents: readonly Agent[]
  /** Sorted by name, then version. */
  readonly intents: readonly Intent[]
  find(ref: IntentRef): Intent | undefined
}

/** The names of the agents must be unique. */
export function toRegistry(agents: readonly Agent[], declared: readonly Offer[] = []): Registry {
  const ordered = [...agents].sort(byOrder)
  const refs = toRefs(ordered, declared)
  const known = new Map(refs.map((ref) => [toKey(ref), toIntent(ref, ordered, declared)]))
  return Object.freeze({
    hash: digestJson(describe(ordered)),
    agents: Object.freeze(ordered),
    intents: Object.freeze([...known.values()]),
    find: (ref: IntentRef) => {
      const found = known.get(toKey(ref))
      if (found) return found
      // An agent for everything serves what nobody has listed, too.
      const intent = toIntent(ref, ordered, [])
      return intent.candidates.length > 0 ? intent : undefined
    },
  })
}

/** Local before remote, then priority, then name: total, because names are unique. */
const byOrder = (a: Agent, b: Agent): number =>
  Number(a.remote) - Number(b.remote) || a.priority - b.priority || byCodePoint(a.name, b.name)

const toKey = ({ name, version }: IntentRef): string => `${name}\n${version}`

function toRefs(agents: readonly Agent[], declared: readonly Offer[]): IntentRef[] {
  const offers = [...agents.flatMap((agent) => agent.offers), ...declared].filter(
    ({ intent }) => intent !== '*',
  )
  const versions = (name: string) =>
    offers.filter(({ intent, version }) => intent === name && version !== '*')
  const refs = offers.flatMap(({ intent: name, version }) => {
    if (version !== '*') return [{ name, version }]
    // Serves every version there is; the first one where nobody names any.
    return versions(name).length > 0 ? [] : [{ name, version: '1.0' }]
  })
  return [...new Map(refs.map((ref) => [toKey(ref), ref])).values()].sort(
    (a, b) => byCodePoint(a.name, b.name) || byCodePoint(a.version, b.version),
  )
}

function toIntent(ref: IntentRef, agents: readonly Agent[], declared: readonly Offer[]): Intent {
  const fits = ({ intent, version }: Offer) =>
    (intent === ref.name || intent === '*') && (version === ref.version || version === '*')
  const candidates = agents.flatMap((agent): Candidate[] => {
    // What names the intent counts before what serves everything.
    const offer =
      agent.offers.find((one) => fits(one) && one.intent === ref.name && one.version !== '*') ??
      agent.offers.find((one) => fits(one) && one.intent === ref.name) ??
      agent.offers.find(fits)
    const standing = Object.freeze({ agent: agent.name })
    return offer ? [Object.freeze({ agent, offer, standing })] : []
  })
  const expected = declared.find(fits)
  const effects = mergeEffects([
    ...candidates.map(({ offer }) => offer.effects),
    ...(expected ? [expected.effects] : []),
  ])
  return Object.freeze({
    ...ref,
    candidates: Object.freeze(candidates),
    effects,
    mayRepeat: mayRepeat(effects),
    ...(expected && { declared: expected }),
  })
}

/** Everything about the agents that a decision depends on. */
export const describe = (agents: readonly Agent[]): readonly JsonObject[] =>
  agents.map(({ name, version, priority, remote, concurrency, timeout, offers }) => ({
    name,
    version,
    priority,
    remote,
    concurrency,
    ...(timeout !== undefined && { timeout }),
    offers: offers.map(({ intent, version, effects, fallbackAgents, strategy }) => ({
      intent,
      version,
      effects: { ...effects },
      ...(fallbackAgents && { fallbackAgents }),
      ...(strategy && { strategy }),
    })),
  }))
