import type { Fault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Parameter } from './parameters.ts'
import { toCookiePairs, toQueryPairs, toScalar } from './serialize.ts'

/** Values that would arrive as something else: they are refused instead of being changed. */
export const findAmbiguity = (
  parameters: readonly Parameter[],
  values: Readonly<Record<string, unknown>>,
): Fault | undefined => findSeparator(parameters, values) ?? findOverride(parameters, values)

/**
 * Some styles separate items by a character that they cannot encode: an item that contains it would arrive
 * as two.
 */
function findSeparator(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, unknown>>,
): Fault | undefined {
  for (const { argument, separators } of parameters) {
    const value = Object.hasOwn(values, argument) ? values[argument] : undefined
    if (separators === undefined || typeof value !== 'object' || value === null) continue
    const texts = Array.isArray(value) ? value : Object.entries(value).flat()
    const found = separators.find((one) => texts.some((text) => toScalar(text).includes(one)))
    if (found !== undefined)
      return {
        fault: `An item of "${argument}" must not contain ${JSON.stringify(found)}, which separates its items.`,
      }
  }
  return undefined
}

/** The keys of an exploded object are names of their own: they must not be those of other parameters. */
function findOverride(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, unknown>>,
): Fault | undefined {
  for (const { place, name, argument, format } of parameters) {
    const value = Object.hasOwn(values, argument) ? values[argument] : undefined
    if ((place !== 'query' && place !== 'cookie') || !isPlainObject(value)) continue
    const others = new Set(
      parameters.flatMap((one) => (one.place === place && one.name !== name ? [one.name] : [])),
    )
    const pairs = (place === 'query' ? toQueryPairs : toCookiePairs)(name, value, format)
    const key = pairs.map(([key]) => decodeURIComponent(key)).find((one) => others.has(one))
    if (key !== undefined)
      return {
        fault: `"${argument}" must not contain ${JSON.stringify(key)}, which is the name of another parameter.`,
      }
  }
  return undefined
}
