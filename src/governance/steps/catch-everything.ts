import { refused } from '../failures.ts'
import { LedgerError } from '../ledger.ts'
import { toCause } from '../to-cause.ts'
import { unavailable } from './require-approval.ts'
import type { Step } from './step.ts'

/** Anything else thrown is a bug: it is kept for the operator, and the client gets a reference. */
export const catchEverything: Step = async (call, next) => {
  try {
    return await next(call)
  } catch (thrown) {
    if (thrown instanceof LedgerError) return unavailable(thrown)
    const cause = toCause(thrown)
    return refused('internal', `Something went wrong inside ${call.capability.name}.`, { cause })
  }
}
