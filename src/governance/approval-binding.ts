import type { Call } from '../capability/call.ts'
import { digestJson } from '../json/digest-json.ts'
import { digestArguments } from './digest.ts'

/** Binds an approval to one caller, one definition and one set of arguments. */
export const toApprovalBinding = (call: Call): string =>
  digestJson([call.caller.subject, call.address, call.fingerprint, digestArguments(call)])
