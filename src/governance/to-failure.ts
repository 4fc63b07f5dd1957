import type { Call } from '../capability/call.ts'
import type { Failed } from '../capability/outcome.ts'
import { StorageError } from '../capability/storage-error.ts'
import { toCause } from '../capability/to-cause.ts'
import { refused } from './failures.ts'
import { ledgerUnavailable } from './steps/require-approval.ts'

/** Turns a bug into an `internal` failure: the cause is logged, the client gets a reference. */
export const toFailure = (call: Call, thrown: unknown): Failed =>
  thrown instanceof StorageError ? ledgerUnavailable(thrown) : internalError(call, thrown)

export const internalError = ({ capability }: Call, thrown: unknown): Failed =>
  refused('internal', `Internal error in ${capability.name}.`, { cause: toCause(thrown) })
