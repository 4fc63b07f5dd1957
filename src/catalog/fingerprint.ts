import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'

/** Changes if and only if the definition changes. Throws for values without canonical JSON. */
export const toFingerprint = (capability: Capability): string =>
  hash('sha256', canonicalize(toDefinition(capability)) ?? '').slice(0, 32)

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
