import type { Outcome } from '../capability/outcome.ts'
import type { Step } from './step.ts'

/** Shorter values would strike out ordinary words. */
const shortest = 8

/**
 * Strikes every known secret out of what leaves. Without any there is no step at all, so that those
 * who have none do not pay for it.
 */
export function withholdSecrets(secrets: readonly string[]): readonly Step[] {
  const known = [...new Set(secrets)].filter((secret) => secret.length >= shortest)
  if (known.length === 0) return []
  // Longest first: a secret may begin with another one.
  const pattern = new RegExp(
    known
      .sort((a, b) => b.length - a.length)
      .map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('|'),
    'g',
  )
  return [async (call, next) => strike(await next(call), pattern) as Outcome]
}

/** The same value when there is nothing to strike out, so that most answers are not copied. */
function strike(value: unknown, pattern: RegExp): unknown {
  if (typeof value === 'string') return value.replace(pattern, '[withheld]')
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (Array.isArray(value)) {
    const struck = value.map((item) => strike(item, pattern))
    return struck.some((item, index) => item !== value[index]) ? struck : value
  }
  let copy: Record<string, unknown> | undefined
  for (const [key, item] of Object.entries(value)) {
    // The cause stays inside the process: the log strikes out what it must itself.
    const struck = key === 'cause' ? item : strike(item, pattern)
    if (struck === item) continue
    copy ??= { ...value }
    copy[key] = struck
  }
  return copy ?? value
}
