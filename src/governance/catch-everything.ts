import { inspect } from 'node:util'
import { refused } from './failures.ts'
import type { Step } from './step.ts'

/** Anything thrown is a bug: it is kept for the operator, and the client gets a reference. */
export const catchEverything: Step = async (call, next) => {
  try {
    return await next(call)
  } catch (thrown) {
    const cause = toCause(thrown)
    return refused('internal', `Something went wrong inside ${call.capability.name}.`, { cause })
  }
}

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
