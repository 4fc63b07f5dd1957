import type { Capability } from '../capability/capability.ts'
import { digestJson } from '../json/digest-json.ts'

/** Changes if and only if the definition changes. Throws for values without canonical JSON. */
export const toFingerprint = (capability: Capability): string =>
  digestJson(toDefinition(capability), 'hex').slice(0, 32)

/** The parts of a capability that clients rely on. */
export const toDefinition = (capability: Capability) => ({
  name: capability.name,
  title: capability.title,
  description: capability.description,
  input: capability.input.schema,
  output: capability.output?.schema,
  effects: capability.effects,
  rules: capability.rules,
  extras: capability.extras,
})
