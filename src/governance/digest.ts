import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Call } from '../capability/call.ts'

/** The same for arguments that mean the same: key order, number spelling and spacing do not count. */
export const toDigest = (value: unknown): string =>
  hash('sha256', canonicalize(value ?? null) ?? 'null', 'base64url')

/** `undefined` where there is no canonical form: half a pair of surrogates, a number like 1e999. */
export function findDigest(value: unknown): string | undefined {
  try {
    return toDigest(value)
  } catch {
    return undefined
  }
}

/** What an approval is good for: this caller, this very definition, these very arguments. */
export const toBinding = ({ caller, address, fingerprint }: Call, digest: string): string =>
  toDigest([caller.subject, address, fingerprint, digest])
