import type { Call } from '../capability/call.ts'
import { toDefinition } from '../capability/definition.ts'
import { digestJson } from '../json/digest-json.ts'
import { digestArguments } from './digest.ts'
import { findOwnKey } from './key-argument.ts'

/** What an approval is valid for. */
export interface ApprovalBinding {
  /** Digest of all of it: an approval is used only by a call with the same binding. */
  readonly binding: string
  /** Digest of caller, address and arguments: finds the approval that a change has made void. */
  readonly request: string
}

/**
 * Binds an approval to one caller, one set of arguments, the definition with its destination and code,
 * and the policy in force. `policy` is the digest of the settings that are not merged into the rules.
 */
export function toApprovalBinding(call: Call, policy: string): ApprovalBinding {
  const request = [call.caller.subject, call.address, digestArguments(call), ...toOwnKey(call)]
  return {
    binding: digestJson([...request, call.fingerprint, policy]),
    request: digestJson(request),
  }
}

/** A key that the capability receives as an argument is one of the arguments that a human approves. */
const toOwnKey = (call: Call): readonly string[] => {
  const key = findOwnKey(call)
  return key === undefined ? [] : [key]
}

/** A digest of each part that an approval covers, to say later which of them changed. */
export type ApprovalCoverage = Readonly<Record<string, string>>

export const toApprovalCoverage = (call: Call, policy: string): ApprovalCoverage => ({
  ...Object.fromEntries(
    Object.entries(toDefinition(call.capability)).map(([part, value]) => [part, digestJson(value)]),
  ),
  policy,
})

/** The names of the parts that differ. */
export const findChangedParts = (
  approved: ApprovalCoverage,
  present: ApprovalCoverage,
): readonly string[] => Object.keys(present).filter((part) => approved[part] !== present[part])
