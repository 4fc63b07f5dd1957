import type { Listener, LogEntry, Progress } from '../../capability/listener.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { Step } from './step.ts'

/** Shorter values would match ordinary words. */
const minSecretLength = 8

/**
 * Redacts every known secret from outcomes, progress and log entries. Returns no step without
 * secrets, so that it costs nothing then.
 */
export function redactSecrets(secrets: readonly string[]): readonly Step[] {
  const matcher = toSecretMatcher(secrets)
  if (!matcher) return []
  return [
    async (call, next) => {
      const outcome = await next({ ...call, listener: toRedactingListener(call.listener, matcher) })
      return redactValue(outcome, matcher) as Outcome
    },
  ]
}

/** Redacts plain text: logs and diagnostics. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const matcher = toSecretMatcher(secrets)
  return matcher ? (text) => text.replace(matcher.pattern, replacement) : (text) => text
}

const replacement = '[withheld]'

interface SecretMatcher {
  readonly pattern: RegExp
  /** Length of the shortest secret: most strings are too short to contain one. */
  readonly minLength: number
}

function toSecretMatcher(secrets: readonly string[]): SecretMatcher | undefined {
  // Each line of a multi-line secret, such as a PEM key, is a secret too.
  const parts = secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)])
  const distinct = [...new Set(parts)].filter((secret) => secret.length >= minSecretLength)
  if (distinct.length === 0) return undefined
  // Longest first: one secret may be a prefix of another.
  const alternatives = distinct
    .sort((a, b) => b.length - a.length)
    .map((secret) => secret.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return {
    pattern: new RegExp(alternatives.join('|'), 'g'),
    minLength: Math.min(...distinct.map(({ length }) => length)),
  }
}

const toRedactingListener = (listener: Listener, matcher: SecretMatcher): Listener => ({
  progress: (update) => listener.progress(redactValue(update, matcher) as Progress),
  log: (entry) => listener.log(redactValue(entry, matcher) as LogEntry),
})

/** Most values contain no secret: those are searched, but not copied. */
const redactValue = (value: unknown, matcher: SecretMatcher): unknown =>
  containsSecret(value, matcher, 0) ? redactCopy(value, matcher.pattern, 0) : value

function containsSecret(value: unknown, matcher: SecretMatcher, depth: number): boolean {
  if (typeof value === 'string')
    return value.length >= matcher.minLength && value.search(matcher.pattern) >= 0
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false
  if (Array.isArray(value)) return value.some((item) => containsSecret(item, matcher, depth + 1))
  return Object.keys(value).some(
    (key) =>
      containsSecret(key, matcher, depth) ||
      containsSecret((value as Readonly<Record<string, unknown>>)[key], matcher, depth + 1),
  )
}

const maxDepth = 100

/** Parts without a secret keep their identity, so that class instances survive. */
function redactCopy(value: unknown, pattern: RegExp, depth: number): unknown {
  if (typeof value === 'string') return value.replace(pattern, replacement)
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > maxDepth)
    return value
  if (Array.isArray(value)) {
    const items = value.map((item) => redactCopy(item, pattern, depth + 1))
    return items.some((item, index) => item !== value[index]) ? items : value
  }
  let isChanged = false
  const entries = Object.entries(value).map(([key, item]) => {
    const redactedKey = key.replace(pattern, replacement)
    const redactedItem = redactCopy(item, pattern, depth + 1)
    isChanged ||= redactedKey !== key || redactedItem !== item
    return [redactedKey, redactedItem]
  })
  return isChanged ? Object.fromEntries(entries) : value
}
