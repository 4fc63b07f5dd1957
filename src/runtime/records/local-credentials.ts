import { type Caller, localUser } from '../../capability/caller.ts'
import { isFault } from '../../capability/fault.ts'
import { findOwnerCredential } from '../../sources/records/grants/owner-credentials.ts'
import type { TokenGate, TokenGates } from '../../sources/records/grants/token-gate.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'
import { CredentialError } from './credential-error.ts'

/** Finds an owner token anywhere in a message of stdio, or in the arguments of a call. */
export function messageContainsOwnerToken(gates: TokenGates, message: unknown): boolean {
  if (gates.size === 0) return false
  const text = JSON.stringify(message) ?? ''
  return [...gates.values()].some((gate) => gate.containsOwnerToken(text))
}

/** The caller on this machine: the local user, or the holder of a grant where a mount serves records. */
export function toLocalCaller(gate: TokenGate | undefined, token: string | undefined): Caller {
  if (!gate) return localUser
  const caller = gate.admit(token)
  if (!isFault(caller)) return caller
  throw new CredentialError(
    caller.fault === 'owner' ? 'owner' : 'invalid',
    `DRAWBRIDGE_TOKEN: ${refusalMessages[caller.fault]}`,
  )
}

/** Refuses to start a server that could read with an owner's credential instead of a grant. */
export function refuseOwnerCredentials(...parts: Parameters<typeof findOwnerCredential>): void {
  const place = findOwnerCredential(...parts)
  if (place !== undefined) throw new CredentialError('owner', `${place} ${refusalMessages.owner}`)
}
