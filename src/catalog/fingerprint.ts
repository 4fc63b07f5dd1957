import type { Capability } from '../capability/capability.ts'
import { toDefinition } from '../capability/definition.ts'
import { digestJson } from '../json/digest-json.ts'

/** Changes if and only if the definition changes. Throws for values without canonical JSON. */
export const toFingerprint = (capability: Capability): string =>
  digestJson(toDefinition(capability), 'hex').slice(0, 32)
