import type { Call, Listener } from '../capability/call.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Step } from './step.ts'

/** Shorter values would strike out ordinary words. */
const shortest = 8

/**
 * Strikes every known secret out of what leaves: the outcome, and what is told meanwhile. Without
 * any there is no step at all, so that those who have none do not pay for it.
 */
export function withholdSecrets(secrets: readonly string[]): readonly Step[] {
  const pattern = toPattern(secrets)
  if (!pattern) return []
  return [
    async (call, next) => {
      const outcome = await next({ ...call, listener: toDiscreet(call.listener, pattern) })
      return strike(outcome, pattern) as Outcome
    },
  ]
}

/** The same for text of any other kind: logs, diagnostics. */
export function createStrike(secrets: readonly string[]): (text: string) => string {
  const pattern = toPattern(secrets)
  return pattern ? (text) => text.replace(pattern, struck) : (text) => text
}

const struck = '[withheld]'

function toPattern(secrets: readonly string[]): RegExp | undefined {
  // A key has several lines, and each of them is one too many.
  const parts = secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)])
  const known = [...new Set(parts)].filter((secret) => secret.length >= shortest)
  if (known.length === 0) return undefined
  // Longest first: a secret may begin with another one.
  const words = known
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(words.join('|'), 'g')
}

const toDiscreet = (listener: Listener, pattern: RegExp): Call['listener'] => ({
  progress: (progress) =>
    listener.progress(strike(progress, pattern) as Parameters<Listener['progress']>[0]),
  log: (entry) => listener.log(strike(entry, pattern) as Parameters<Listener['log']>[0]),
})

/** The same value when there is nothing to strike out, so that most answers are not copied. */
function strike(value: unknown, pattern: RegExp, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(pattern, struck)
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > 100)
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
