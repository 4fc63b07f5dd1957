import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { ValidManifest } from './reading/read-manifest.ts'

type Capabilities = ValidManifest['capabilities']

/** The capabilities without an error, and those that are left out because nothing governs their effects. */
export interface Servable {
  readonly capabilities: Capabilities
  readonly ungoverned: Capabilities
}

/** An invalid capability is left out alone, and of equal ids none is served. */
export function toServable(
  { capabilities, isGoverned }: Pick<ValidManifest, 'capabilities' | 'isGoverned'>,
  diagnostics: readonly Diagnostic[],
): Servable {
  const invalidIndices = new Set(
    diagnostics.flatMap(({ severity, pointer }) =>
      severity === 'error' ? (/^\/capabilities\/(\d+)(?:\/|$)/.exec(pointer)?.[1] ?? []) : [],
    ),
  )
  const counts = new Map<string, number>()
  for (const { id } of capabilities) counts.set(id, (counts.get(id) ?? 0) + 1)
  const valid = capabilities.filter(
    ({ id, index }) => counts.get(id) === 1 && !invalidIndices.has(String(index)),
  )
  const isAllowed = ({ side_effect_level }: Capabilities[number]) =>
    isGoverned || side_effect_level === 'none'
  return {
    capabilities: valid.filter(isAllowed),
    ungoverned: valid.filter((capability) => !isAllowed(capability)),
  }
}
