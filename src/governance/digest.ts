import type { AuditTrail } from '../capability/plan.ts'
import { digestJson } from '../json/digest-json.ts'

/** The part of a call that its digest is computed from and cached in. */
export interface Digestible {
  readonly rawInput: unknown
  readonly auditTrail: AuditTrail
}

/** Digest of the arguments, computed on first use: most reads never need it. */
export const digestArguments = (call: Digestible): string => {
  call.auditTrail.digest ??= digestJson(call.rawInput)
  return call.auditTrail.digest
}

/** `undefined` without a canonical form: an unpaired surrogate, or a number like 1e999. */
export function tryDigestArguments(call: Digestible): string | undefined {
  try {
    return digestArguments(call)
  } catch {
    return undefined
  }
}
