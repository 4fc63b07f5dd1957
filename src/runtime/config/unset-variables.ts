import type { Diagnostic } from '../../capability/diagnostic.ts'
import { byCodeUnit } from '../../json/by-code-unit.ts'

type Place = Pick<Diagnostic, 'source' | 'pointer' | 'at'>

/**
 * Environment variables that are not set and need not be (`--env-optional`), with the placeholders that stand
 * for them. A placeholder is never used for a connection, and is printed as its reference.
 */
export class UnsetVariables {
  readonly #places = new Map<string, Place>()
  readonly #names = new Map<string, string>()

  /** Remembers the first place that refers to a variable. */
  add(name: string, place: Place): void {
    if (!this.#places.has(name)) this.#places.set(name, place)
  }

  addPlaceholder(placeholder: string, name: string): void {
    this.#names.set(placeholder, name)
    // Messages about a URL often name its host alone.
    if (!placeholder.includes('://')) return
    this.#names.set(placeholder.replace(/\/$/, ''), name)
    this.#names.set(new URL(placeholder).host, name)
  }

  /** Whether a value of a configuration contains a placeholder. */
  areIn(value: unknown): boolean {
    if (this.#names.size === 0) return false
    const text = JSON.stringify(value) ?? ''
    return [...this.#names.keys()].some((placeholder) => text.includes(placeholder))
  }

  /** Prints placeholders as the references that they stand for. */
  mask(text: string): string {
    let masked = text
    // Longest first: a placeholder may contain another one.
    const placeholders = [...this.#names].sort(([a], [b]) => b.length - a.length)
    for (const [placeholder, name] of placeholders)
      masked = masked.replaceAll(placeholder, `env://${name}`)
    return masked
  }

  /** As `mask`, for every text in a value with a JSON form. */
  maskJson<T>(value: T): T {
    if (!this.areIn(value)) return value
    const text = JSON.stringify(value)
    return JSON.parse(text, (_, one) => (typeof one === 'string' ? this.mask(one) : one)) as T
  }

  /** Leaves out what was found out about placeholders, and adds one line for each variable. */
  amend(diagnostics: readonly Diagnostic[]): Diagnostic[] {
    return [...this.diagnostics, ...diagnostics.filter((one) => !this.areIn(one))]
  }

  get diagnostics(): Diagnostic[] {
    return [...this.#places]
      .sort(([a], [b]) => byCodeUnit(a, b))
      .map(([name, place]) => ({
        code: 'env_unset',
        severity: 'info',
        message: `env://${name} is not set in the environment. What depends on its value is not checked.`,
        ...place,
      }))
  }
}

/**
 * Values of the forms that a configuration requires of texts; the first that fits is used. Long enough for
 * keys, and in the reserved domain `invalid`, which never resolves.
 */
export function toPlaceholders(name: string): readonly string[] {
  const word =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'x'
  const host = `${word}.unset-environment-variable.invalid`
  const digits = Buffer.from(host).toString('hex').padEnd(64, '0').slice(0, 64)
  return [
    `unset-environment-variable-value-${word}`,
    `/unset-environment-variable-${word}`,
    host,
    `https://${host}/`,
    `nats://${host}`,
    `sha256:${digits}`,
    `x-unset-${word}`,
  ]
}
