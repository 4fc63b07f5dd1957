import type { Capability } from '../capability/capability.ts'
import type { Diagnostic } from '../capability/diagnostic.ts'
import { findNearest } from '../capability/find-nearest.ts'
import type { Snapshot } from '../catalog/snapshot.ts'
import { matchesName, type PolicyRule, toMatcher } from '../governance/policy.ts'
import { findHidden } from '../json/hidden-characters.ts'
import type { Config } from './config/config-shape.ts'
import { diagnoseApprovers } from './diagnose-approvers.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'

/** Findings about the configuration itself, now that it is known what the sources offer. */
export function diagnoseConfiguration(
  options: Pick<DrawbridgeOptions, 'name' | 'version' | 'description' | 'instructions'>,
  { rules, tokens }: DiagnosedConfiguration,
  snapshots: readonly Snapshot[],
): Diagnostic[] {
  const capabilities = snapshots.flatMap(({ capabilities, views, templates, prompts }) =>
    [...capabilities.values(), ...views.values(), ...templates, ...prompts.values()].map(
      ({ capability }) => capability,
    ),
  )
  return [
    ...diagnoseTexts(options),
    ...diagnoseRules(rules, capabilities),
    ...diagnoseBudgets(rules, capabilities),
    ...diagnoseApprovers(rules, capabilities, tokens),
  ]
}

export interface DiagnosedConfiguration {
  readonly rules: readonly PolicyRule[]
  readonly tokens: Config['http']['tokens']
}

const warn = (code: string, pointer: string, message: string): Diagnostic => ({
  code,
  severity: 'warning',
  message,
  source: 'configuration',
  pointer,
})

const diagnoseTexts = (options: object): Diagnostic[] =>
  ['name', 'version', 'description', 'instructions'].flatMap((key) => {
    const characters = findHidden(String(Object.entries(options).find(([one]) => one === key)?.[1]))
    const message = `"${key}" has hidden characters: ${characters.join(' ')}. Remove them.`
    return characters.length === 0 ? [] : [warn('hidden_text', `/${key}`, message)]
  })

/** A rule that matches nothing protects nothing: most often its pattern is misspelt. */
const diagnoseRules = (
  rules: readonly PolicyRule[],
  capabilities: readonly Capability[],
): Diagnostic[] =>
  rules.flatMap((rule, index) =>
    rule.match.flatMap((pattern, position) => {
      const reason = findReason(pattern, rule, capabilities)
      const pointer = `/policy/rules/${index}/match/${position}`
      return reason === undefined ? [] : [warn('rule_unmatched', pointer, reason)]
    }),
  )

/** A budget counts costs in its own unit only, so that it would limit nothing else without a word. */
const diagnoseBudgets = (
  rules: readonly PolicyRule[],
  capabilities: readonly Capability[],
): Diagnostic[] =>
  rules.flatMap((rule, index) => {
    const matches = toMatcher(rule)
    const matching = capabilities.filter(matches)
    return (rule.budgets ?? []).flatMap(({ unit }, position) => {
      const uncounted = unit === 'calls' ? [] : matching.filter((one) => hasOtherCost(one, unit))
      const [first, ...others] = uncounted
      if (!first) return []
      const rest = others.length === 0 ? '' : ` and ${others.length} more`
      const message = `The budget in ${unit} does not limit ${first.name}${rest}: the cost is in ${first.rules.cost?.unit}, and no budget is. Add a budget in that unit, or give the cost in ${unit}.`
      return [warn('cost_unbudgeted', `/policy/rules/${index}/budgets/${position}`, message)]
    })
  })

const hasOtherCost = ({ rules: { cost, budgets } }: Capability, unit: string): boolean =>
  cost !== undefined &&
  cost.amount > 0 &&
  cost.unit !== unit &&
  budgets.every((budget) => budget.unit !== cost.unit)

function findReason(
  pattern: string,
  { writes }: PolicyRule,
  capabilities: readonly Capability[],
): string | undefined {
  if (pattern === '*') return undefined
  const matching = capabilities.filter(({ name }) => matchesName(pattern, name))
  if (matching.length === 0) {
    const nearest = findNearestName(pattern, capabilities)
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
    return `The rule matches nothing: no served name matches "${pattern}".${hint} "drawbridge list" shows all names.`
  }
  // A pattern may be meant for later; a single name is meant for this capability.
  if (pattern.includes('*') || writes === undefined) return undefined
  if (matching.some(({ effects }) => effects.writes === writes)) return undefined
  return `The rule does not apply to "${pattern}": it has "writes: ${writes}", and ${pattern} ${writes ? 'only reads' : 'writes'}.`
}

function findNearestName(pattern: string, capabilities: readonly Capability[]): string | undefined {
  const declared = capabilities.find(({ origin }) => matchesName(pattern, origin.name ?? ''))
  if (declared) return declared.name
  const names = capabilities.map(({ name }) => name)
  const stem = pattern.replace(/\*$/, '')
  if (stem === pattern || stem.includes('*')) return findNearest(pattern, names)
  const nearest = findNearest(
    stem,
    names.map((name) => name.slice(0, stem.length)),
  )
  return nearest === undefined ? undefined : `${nearest}*`
}
