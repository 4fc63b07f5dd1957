import { toEncodings } from './secret-encodings.ts'
import { TextMatcher } from './text-matcher.ts'

/** Shorter values would match ordinary words. */
const minSecretLength = 8
/** Limit for secrets that are added while the process runs, such as short-lived tokens. */
const maxAddedSecrets = 64
const maxDepth = 100
const replacement = '[withheld]'

/** Replaces secrets in texts and values, also where they are encoded. */
export class Redactor {
  readonly #fixed: ReadonlySet<string>
  readonly #added = new Set<string>()
  /** The encodings of every secret, so that a new one does not encode the others again. */
  readonly #encodings = new Map<string, readonly string[]>()
  /** Absent without secrets, so that redacting costs nothing then. */
  #matcher: TextMatcher | undefined

  constructor(secrets: readonly string[]) {
    this.#fixed = new Set(secrets)
    this.#compile()
  }

  /** Redacts one more secret from now on. The oldest added one is forgotten when there are too many. */
  readonly add = (secret: string): void => {
    if (this.#added.has(secret) || this.#fixed.has(secret)) return
    const [oldest] = this.#added
    if (this.#added.size >= maxAddedSecrets && oldest !== undefined) {
      this.#added.delete(oldest)
      this.#encodings.delete(oldest)
    }
    this.#added.add(secret)
    this.#compile()
  }

  /** Redacts plain text: logs and diagnostics. */
  readonly text = (text: string): string => {
    const ranges = this.#matcher?.findAll(text) ?? []
    if (ranges.length === 0) return text
    const parts = ranges.map(({ start }, index) => text.slice(ranges[index - 1]?.end ?? 0, start))
    return [...parts, text.slice(ranges.at(-1)?.end)].join(replacement)
  }

  /** Most values contain no secret: those are searched, but not copied. */
  value<Value>(value: Value): Value {
    const matcher = this.#matcher
    return matcher && containsSecret(value, matcher, 0) ? (this.#copy(value, 0) as Value) : value
  }

  #compile(): void {
    const texts = new Set([...this.#fixed, ...this.#added].flatMap((one) => this.#encode(one)))
    this.#matcher = texts.size === 0 ? undefined : new TextMatcher([...texts])
  }

  #encode(secret: string): readonly string[] {
    const encodings = this.#encodings.get(secret) ?? toEncodings(secret, minSecretLength)
    this.#encodings.set(secret, encodings)
    return encodings
  }

  /** Parts without a secret keep their identity, so that class instances survive. */
  #copy(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null || value instanceof Date || depth > maxDepth)
      return value
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#copy(item, depth + 1))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    let isChanged = false
    const entries = Object.entries(value).map(([key, item]) => {
      const redactedKey = this.text(key)
      const redactedItem = this.#copy(item, depth + 1)
      isChanged ||= redactedKey !== key || redactedItem !== item
      return [redactedKey, redactedItem]
    })
    return isChanged ? Object.fromEntries(entries) : value
  }
}

/** Hot path: loops, because every result is searched and closures would be allocated for each of its objects. */
function containsSecret(value: unknown, matcher: TextMatcher, depth: number): boolean {
  if (typeof value === 'string') return value.length >= matcher.minLength && matcher.matches(value)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return false
  if (Array.isArray(value)) {
    // Read by index: a custom iterator might never end.
    for (let index = 0; index < value.length; index++)
      if (containsSecret(value[index], matcher, depth + 1)) return true
    return false
  }
  for (const key in value)
    if (
      containsSecret(key, matcher, depth) ||
      containsSecret((value as Readonly<Record<string, unknown>>)[key], matcher, depth + 1)
    )
      return true
  return false
}
