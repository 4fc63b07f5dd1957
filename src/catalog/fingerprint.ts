import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'

/** Changes when, and only when, something a client relies on changes. */
export const toFingerprint = (capability: Capability): string =>
  hash('sha256', canonicalize(toRelied(capability)) ?? '').slice(0, 32)

/** What a client relies on, part by part. */
export const toRelied = (capability: Capability) => ({
  name: capability.name,
  title: capability.title,
  description: capability.description,
  input: capability.input.schema,
  output: capability.output?.schema,
  effects: capability.effects,
  rules: capability.rules,
  extras: capability.extras,
})
