import { refused } from '../failures.ts'
import type { Check } from './check.ts'

/** What changed between two definitions of a capability; `undefined` when the former is not known. */
export type Compare = (
  capability: string,
  former: string,
  present: string,
) => readonly string[] | undefined

/** Compare-and-call: a client that knows another definition is told instead of served. */
export const checkDefinition = (compare: Compare): Check => ({
  name: 'definition',
  decide(call) {
    const { expects, fingerprint, capability } = call
    if (expects === undefined || expects === fingerprint) return { passes: call }
    const changed = compare(capability.name, expects, fingerprint)
    const what = changed
      ? `Different now: ${changed.join(', ')}.`
      : 'The definition you know is not known here.'
    const message = `${capability.name} is not what you expect. ${what} List the tools again, and call with what you find.`
    const details = { expected: expects, actual: fingerprint, ...(changed && { changed }) }
    return { ends: refused('definition_changed', message, { details, retryable: true }) }
  },
})
