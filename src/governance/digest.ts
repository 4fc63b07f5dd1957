import type { Call, Trail } from '../capability/call.ts'
import { digestJson } from '../capability/digest-json.ts'

/** The part of a call that its digest is computed from and cached in. */
export interface Digestible {
  readonly given: unknown
  readonly trail: Trail
}

/** Digest of the arguments, computed on first use: most reads never need it. */
export const digestArguments = (call: Digestible): string => {
  call.trail.digest ??= digestJson(call.given)
  return call.trail.digest
}

/** `undefined` without a canonical form: an unpaired surrogate, or a number like 1e999. */
export function tryDigestArguments(call: Digestible): string | undefined {
  try {
    return digestArguments(call)
  } catch {
    return undefined
  }
}

/** Binds an approval to one caller, one definition and one set of arguments. */
export const toApprovalBinding = (call: Call): string =>
  digestJson([call.caller.subject, call.address, call.fingerprint, digestArguments(call)])
