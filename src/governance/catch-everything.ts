import { refused } from './failures.ts'
import type { Step } from './step.ts'

/** Anything thrown is a bug: it is kept for the operator, and the client gets a reference. */
export const catchEverything: Step = async (call, next) => {
  try {
    return await next(call)
  } catch (cause) {
    return refused('internal', `Something went wrong inside ${call.capability.name}.`, { cause })
  }
}
