import type { Capability } from '../capability/capability.ts'
import type { Approvers, Budget, Cost, Rate, Rules } from '../capability/rules.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toGlob } from '../patterns/glob.ts'

/** A rule that the operator adds to all capabilities it matches. */
export interface PolicyRule {
  /** Name patterns; `*` matches any characters. */
  readonly match: readonly string[]
  /** Restricts the match to capabilities that write, or to those that do not. */
  readonly writes?: boolean
  readonly permissions?: readonly string[]
  readonly approval?: boolean
  readonly approvers?: Approvers
  readonly idempotencyKey?: boolean
  readonly cost?: Cost
  readonly budgets?: readonly Omit<Budget, 'id'>[]
  readonly rates?: readonly Omit<Rate, 'id'>[]
  readonly timeout?: number
  readonly recordArguments?: boolean
}

/**
 * Merges policy into a capability's rules once, at load time. The result is part of the definition:
 * shown to callers, enforced, and covered by the fingerprint.
 */
export function createRefine(
  rules: readonly PolicyRule[],
): <T extends Capability>(capability: T) => T {
  const compiled = rules.map((rule) => ({ rule, matches: toMatcher(rule) }))
  return (capability) => {
    const matching = compiled.filter(({ matches }) => matches(capability))
    if (matching.length === 0) return capability
    const refinedRules = matching.reduce(
      (merged, { rule }) => tighten(merged, rule),
      capability.rules,
    )
    const completion = getCompletion(capability)
    return Object.freeze({
      ...capability,
      rules: refinedRules,
      // Completions could leak data: they get the same rules.
      ...dropUndefined({ completion: completion && { ...completion, rules: refinedRules } }),
    })
  }
}

const getCompletion = (capability: Capability & { completion?: Capability }) =>
  capability.completion

/** Whether a rule applies to a capability. */
export function toMatcher({ match, writes }: PolicyRule): (capability: Capability) => boolean {
  const globs = match.map(toGlob)
  return ({ name, effects }) =>
    (writes === undefined || writes === effects.writes) && globs.some((matches) => matches(name))
}

/** Whether a pattern of a rule, in which `*` matches any characters, matches a name. */
export const matchesName = (pattern: string, name: string): boolean => toGlob(pattern)(name)

/** The stricter value wins, except for `cost`: there, the last matching rule does. */
function tighten(rules: Rules, policy: PolicyRule): Rules {
  const id = policy.match.join(',')
  const timeouts = [rules.timeout, policy.timeout].filter((timeout) => timeout !== undefined)
  return dropUndefined({
    permissions: [...new Set([...rules.permissions, ...(policy.permissions ?? [])])],
    approval: rules.approval || (policy.approval ?? policy.approvers !== undefined),
    approvers: toStricterApprovers(rules.approvers, policy.approvers),
    idempotencyKey: rules.idempotencyKey || (policy.idempotencyKey ?? false),
    repeatsAreMeant: rules.repeatsAreMeant || undefined,
    cost: policy.cost ?? rules.cost,
    budgets: [
      ...rules.budgets,
      ...(policy.budgets ?? []).map((budget) => ({
        ...budget,
        // The id leaves out the limit: changing it must not reset the account.
        id: `${id} ${budget.unit} ${budget.per} ${budget.window}`,
      })),
    ],
    rates: [
      ...rules.rates,
      ...(policy.rates ?? []).map((rate) => ({
        ...rate,
        id: `${id} ${rate.calls}/${rate.seconds}`,
      })),
    ],
    timeout: timeouts.length > 0 ? Math.min(...timeouts) : undefined,
    recordArguments: rules.recordArguments || policy.recordArguments || undefined,
  })
}

/** Two lists become their intersection, which may be empty: then nobody can decide. */
function toStricterApprovers(
  first: Approvers | undefined,
  second: Approvers | undefined,
): Approvers | undefined {
  if (first === undefined || second === undefined) return first ?? second
  if (typeof first === 'string' || typeof second === 'string')
    return strictness(first) > strictness(second) ? first : second
  return first.filter((name) => second.includes(name))
}

const strictness = (approvers: Approvers): number =>
  approvers === 'self' ? 0 : approvers === 'others' ? 1 : 2
