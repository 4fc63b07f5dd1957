import { type Caller, localUser } from '../../capability/caller.ts'
import { isFault } from '../../capability/fault.ts'
import {
  containsOwnerToken,
  type TokenGate,
  type TokenGates,
} from '../../sources/records/grants/token-gate.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'
import { CredentialError } from './credential-error.ts'

/** Finds an owner token anywhere in a message of stdio, or in the arguments of a call. */
export const containsOwner = (gates: TokenGates, message: unknown): boolean =>
  gates.size > 0 && containsOwnerToken(gates, JSON.stringify(message) ?? '')

/** The caller on this machine: the local user, or the holder of a grant where a mount serves records. */
export function toLocalCaller(gate: TokenGate | undefined, token: string | undefined): Caller {
  if (!gate) return localUser
  const admitted = gate.admit(token)
  if (!isFault(admitted)) return admitted.caller
  throw new CredentialError(
    admitted.fault === 'owner' ? 'owner' : 'invalid',
    `DRAWBRIDGE_TOKEN: ${refusalMessages[admitted.fault]}`,
  )
}
