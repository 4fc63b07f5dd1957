import type { Capability } from './capability.ts'

/** The parts of a capability that clients and approvers rely on; the fingerprint covers all of them. */
export const toDefinition = (capability: Capability) => ({
  name: capability.name,
  title: capability.title,
  description: capability.description,
  input: capability.input.schema,
  output: capability.output?.schema,
  effects: capability.effects,
  rules: capability.rules,
  extras: capability.extras,
  destination: capability.destination,
  code: capability.code,
})
