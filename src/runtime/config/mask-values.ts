import type { Json, JsonObject } from '../../capability/json.ts'
import type { TrustSurface } from '../../capability/trust-surface.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ConfigReading } from './read-config.ts'
import type { UnsetVariables } from './unset-variables.ts'

/** Shorter values occur in ordinary words. */
const minLength = 8

/** Replaces values from the environment by their references, so that they can be printed and compared. */
export function createMask(
  configurations: readonly Pick<ConfigReading, 'secrets' | 'variables'>[],
  unset: UnsetVariables | undefined,
): (text: string) => string {
  const references = configurations.flatMap(({ secrets, variables }) =>
    secrets.map((value, index) => [value, `env://${variables[index]}`] as const),
  )
  // Longest first: a value may contain another one.
  const sorted = [...new Map(references)].sort(([a], [b]) => b.length - a.length)
  return (text) => {
    const exact = sorted.find(([value]) => value === text)
    if (exact) return exact[1]
    let masked = text
    for (const [value, reference] of sorted)
      if (value.length >= minLength) masked = masked.replaceAll(value, reference)
    return unset?.mask(masked) ?? masked
  }
}

/** Applies a mask to all texts of the settings; keys are names, not values. */
export const maskSurface =
  (mask: (text: string) => string) =>
  ({ settings, rules }: TrustSurface): TrustSurface => ({
    settings: maskTexts(settings, mask) as JsonObject,
    rules,
  })

function maskTexts(value: Json | undefined, mask: (text: string) => string): Json | undefined {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((item) => maskTexts(item, mask) ?? null)
  if (!isPlainObject(value)) return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, item]) => [key, maskTexts(item, mask)]),
  )
}
