import type { Call } from '../capability/call.ts'
import { digestJson } from '../capability/digest-json.ts'

type Digested = Pick<Call, 'given' | 'trail'>

/** Of what the client meant, found once and only for who needs it: most reads never do. */
export const digestOf = ({ given, trail }: Digested): string => {
  trail.digest ??= digestJson(given)
  return trail.digest
}

/** `undefined` where there is no canonical form: half a pair of surrogates, a number like 1e999. */
export function findDigest(call: Digested): string | undefined {
  try {
    return digestOf(call)
  } catch {
    return undefined
  }
}

/** What an approval is good for: this caller, this very definition, these very arguments. */
export const toBinding = (call: Call): string =>
  digestJson([call.caller.subject, call.address, call.fingerprint, digestOf(call)])
