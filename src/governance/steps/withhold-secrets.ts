import type { Call, Listener } from '../../capability/call.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { Step } from './step.ts'

/** Shorter values would strike out ordinary words. */
const shortest = 8

/**
 * Strikes every known secret out of what leaves: the outcome, and what is told meanwhile. Without
 * any there is no step at all, so that those who have none do not pay for it.
 */
export function withholdSecrets(secrets: readonly string[]): readonly Step[] {
  const known = toKnown(secrets)
  if (!known) return []
  return [
    async (call, next) => {
      const outcome = await next({ ...call, listener: toDiscreet(call.listener, known) })
      return withhold(outcome, known) as Outcome
    },
  ]
}

/** The same for text of any other kind: logs, diagnostics. */
export function createStrike(secrets: readonly string[]): (text: string) => string {
  const known = toKnown(secrets)
  return known ? (text) => text.replace(known.pattern, struck) : (text) => text
}

const struck = '[withheld]'

interface Known {
  readonly pattern: RegExp
  /** Characters of the shortest of them: most texts are too short to hold any. */
  readonly shortest: number
}

function toKnown(secrets: readonly string[]): Known | undefined {
  // A key has several lines, and each of them is one too many.
  const parts = secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)])
  const known = [...new Set(parts)].filter((secret) => secret.length >= shortest)
  if (known.length === 0) return undefined
  // Longest first: a secret may begin with another one.
  const words = known
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return {
    pattern: new RegExp(words.join('|'), 'g'),
    shortest: Math.min(...known.map(({ length }) => length)),
  }
}

const toDiscreet = (listener: Listener, known: Known): Call['listener'] => ({
  progress: (progress) =>
    listener.progress(withhold(progress, known) as Parameters<Listener['progress']>[0]),
  log: (entry) => listener.log(withhold(entry, known) as Parameters<Listener['log']>[0]),
})

/** Most answers hold none, and are neither copied nor looked at closely. */
const withhold = (value: unknown, known: Known): unknown =>
  holds(value, known, 0) ? strike(value, known.pattern, 0) : value

function holds(value: unknown, known: Known, depth: number): boolean {
  if (typeof value === 'string')
    return value.length >= known.shortest && value.search(known.pattern) >= 0
  if (typeof value !== 'object' || value === null || depth > deepest) return false
  if (Array.isArray(value)) return value.some((item) => holds(item, known, depth + 1))
  return Object.keys(value).some(
    (key) =>
      holds(key, known, depth) ||
      holds((value as Readonly<Record<string, unknown>>)[key], known, depth + 1),
  )
}

const deepest = 100

/** What holds none stays the very same: the cause of a failure is an object of its own kind. */
function strike(value: unknown, pattern: RegExp, depth: number): unknown {
  if (typeof value === 'string') return value.replace(pattern, struck)
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > deepest)
    return value
  if (Array.isArray(value)) {
    const items = value.map((item) => strike(item, pattern, depth + 1))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  let changed = false
  const entries = Object.entries(value).map(([key, item]) => {
    const name = key.replace(pattern, struck)
    const kept = strike(item, pattern, depth + 1)
    changed ||= name !== key || kept !== item
    return [name, kept]
  })
  return changed ? Object.fromEntries(entries) : value
}
