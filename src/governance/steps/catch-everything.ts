import type { Call } from '../../capability/call.ts'
import type { Failed } from '../../capability/outcome.ts'
import { StorageError } from '../../capability/storage-error.ts'
import { toCause } from '../../capability/to-cause.ts'
import { refused } from '../failures.ts'
import { ledgerUnavailable } from './require-approval.ts'
import type { Step } from './step.ts'

/** Turns a bug into an `internal` failure: the cause is logged, the client gets a reference. */
export const catchEverything: Step = async (call, next) => {
  try {
    return await next(call)
  } catch (thrown) {
    return thrown instanceof StorageError ? ledgerUnavailable(thrown) : internalError(call, thrown)
  }
}

export const internalError = ({ capability }: Call, thrown: unknown): Failed =>
  refused('internal', `Internal error in ${capability.name}.`, { cause: toCause(thrown) })
