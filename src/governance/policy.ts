import type { Capability } from '../capability/capability.ts'
import type { Budget, Cost, Rate, Rules } from '../capability/rules.ts'

/** What an operator adds to some of the capabilities, whatever their source says of itself. */
export interface PolicyRule {
  /** Names, with `*` for anything. */
  readonly match: readonly string[]
  /** Only those that write, or only those that do not. */
  readonly writes?: boolean
  readonly permissions?: readonly string[]
  readonly approval?: boolean
  readonly approvers?: 'others' | readonly string[]
  readonly idempotencyKey?: boolean
  readonly cost?: Cost
  readonly budgets?: readonly Omit<Budget, 'id'>[]
  readonly rates?: readonly Omit<Rate, 'id'>[]
  readonly timeout?: number
  readonly recordArguments?: boolean
}

/**
 * Adds policy to the rules of a capability, once, when it is loaded. From then on it is part of the
 * definition: what a caller is shown, what is enforced, and what a fingerprint stands for.
 */
export function createRefine(
  rules: readonly PolicyRule[],
): <T extends Capability>(capability: T) => T {
  const compiled = rules.map((rule) => ({ rule, matches: toMatcher(rule) }))
  return (capability) => {
    const applying = compiled.filter(({ matches }) => matches(capability))
    if (applying.length === 0) return capability
    const refined = applying.reduce((sum, { rule }) => tighten(sum, rule), capability.rules)
    const completion = completionOf(capability)
    return Object.freeze({
      ...capability,
      rules: refined,
      // Whoever may not use it may not learn from it what to fill in.
      ...(completion && { completion: { ...completion, rules: refined } }),
    })
  }
}

const completionOf = (capability: Capability & { completion?: Capability }) => capability.completion

function toMatcher({ match, writes }: PolicyRule): (capability: Capability) => boolean {
  const patterns = match.map(
    (name) =>
      new RegExp(`^${name.replaceAll(/[\\^$.+?()[\]{}|]/g, '\\$&').replaceAll('*', '.*')}$`),
  )
  return ({ name, effects }) =>
    (writes === undefined || writes === effects.writes) &&
    patterns.some((pattern) => pattern.test(name))
}

/** Where both say something, the stricter wins: a policy adds and never takes away. */
function tighten(rules: Rules, policy: PolicyRule): Rules {
  const id = policy.match.join(',')
  const approvers = policy.approvers ?? rules.approvers
  const cost = policy.cost ?? rules.cost
  const timeout = Math.min(
    rules.timeout ?? Number.MAX_SAFE_INTEGER,
    policy.timeout ?? Number.MAX_SAFE_INTEGER,
  )
  return {
    permissions: [...new Set([...rules.permissions, ...(policy.permissions ?? [])])],
    approval: rules.approval || (policy.approval ?? policy.approvers !== undefined),
    ...(approvers !== undefined && { approvers }),
    idempotencyKey: rules.idempotencyKey || (policy.idempotencyKey ?? false),
    ...(rules.repeatsAreMeant && { repeatsAreMeant: true }),
    ...(cost && { cost }),
    budgets: [
      ...rules.budgets,
      ...(policy.budgets ?? []).map((budget) => ({
        ...budget,
        // What it limits, not how much: a new limit must not empty the account.
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
    ...(timeout !== Number.MAX_SAFE_INTEGER && { timeout }),
    ...((rules.recordArguments || policy.recordArguments) && { recordArguments: true }),
  }
}
