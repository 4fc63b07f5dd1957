import type { Effects } from '../../capability/effects.ts'
import type { ManifestCapability, ManifestInterface } from './reading/manifest-shape.ts'

/** `route` is the interface the capability is called over; a handler in this process has none. */
export function toEffects(
  { side_effect_level, idempotent }: ManifestCapability,
  route: ManifestInterface | undefined,
): Effects {
  return {
    writes: side_effect_level !== 'none',
    irreversible: side_effect_level === 'high',
    repeatable: side_effect_level === 'none' || idempotent === true,
    reachesOut: route !== undefined && route.protocol !== 'INTERNAL',
  }
}
