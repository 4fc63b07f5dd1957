import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Capability } from '../capability/capability.ts'

/** Changes when, and only when, something a client relies on changes. */
export function toFingerprint(capability: Capability): string {
  const { name, title, description, input, output, effects, rules, extras } = capability
  const relied = {
    name,
    title,
    description,
    input: input.schema,
    output: output?.schema,
    effects,
    rules,
    extras,
  }
  return createHash('sha256')
    .update(canonicalize(relied) ?? '')
    .digest('hex')
    .slice(0, 32)
}
