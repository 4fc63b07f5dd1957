import { inspect } from 'node:util'

/** Describes a thrown value as text now: its getters may throw when it is inspected later. */
export function toCause(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string'
      ? thrown.stack
      : inspect(thrown, { depth: 2, maxStringLength: 1000 })
  } catch {
    return 'a thrown value that cannot be described'
  }
}
