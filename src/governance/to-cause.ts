import { inspect } from 'node:util'

/** In words: what was thrown may itself throw when somebody looks at it later. */
export function toCause(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string'
      ? thrown.stack
      : inspect(thrown, { depth: 2, maxStringLength: 1000 })
  } catch {
    return 'something that cannot be described'
  }
}
