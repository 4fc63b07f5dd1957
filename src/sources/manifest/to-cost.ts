import type { Cost } from '../../capability/rules.ts'
import type { ManifestCapability } from './reading/manifest-shape.ts'
import type { ValidManifest } from './reading/read-manifest.ts'

/** v0.1 names no default for `requirements.budget.currency` but this one. */
export const toCurrency = ({ requirements }: Pick<ValidManifest, 'requirements'>): string =>
  (requirements?.budget?.currency ?? 'USD').toUpperCase()

/**
 * The cost of one call. `unit` says what the amount is: a currency, or a quantity such as tokens, which no
 * budget of money is charged with. A unit such as `call` or `run` says what the amount is the price of; it is
 * then in the currency of the manifest, as without a unit. `mode: token` without a unit counts tokens.
 */
export function toCost(
  manifest: Pick<ValidManifest, 'requirements'>,
  { cost }: Pick<ManifestCapability, 'cost'>,
): Cost | undefined {
  if (cost?.estimated_cost === undefined) return undefined
  return { amount: cost.estimated_cost, unit: toUnit(cost, toCurrency(manifest)) }
}

function toUnit({ unit, mode }: NonNullable<ManifestCapability['cost']>, currency: string): string {
  const name = unit?.trim() ?? ''
  if (name === '') return mode === 'token' ? 'tokens' : currency
  if (/^[a-z]{3}$/i.test(name) && !perCall.test(name)) return name.toUpperCase()
  if (perCall.test(name)) return currency
  return /^tokens?$/i.test(name) ? 'tokens' : name
}

/** Units that name the call itself. */
const perCall = /^(?:per[ _-])?(?:call|run|request|task|invocation|execution|operation|use)s?$/i
