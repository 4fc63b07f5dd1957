import { type Caller, localUser } from '../../capability/caller.ts'
import { CredentialError } from '../../capability/setup-error.ts'
import type { TokenGate } from '../../sources/records/grants/token-gate.ts'
import { refusalMessages } from '../../sources/records/grants/token-refusal.ts'

type TokenGates = ReadonlyMap<string, TokenGate>

/** Finds an owner token in a message. It must not reach a source, the model or a log. */
export function containsOwner(gates: TokenGates, message: unknown): boolean {
  if (gates.size === 0) return false
  const text = JSON.stringify(message) ?? ''
  return [...gates.values()].some((gate) => gate.holdsOwner(text))
}

/** The caller on this machine: the local user, or the holder of a grant where a mount serves records. */
export function toLocalCaller(gate: TokenGate | undefined, token: string | undefined): Caller {
  if (!gate) return localUser
  const admitted = gate.admit(token)
  if ('caller' in admitted) return admitted.caller
  const { refusal } = admitted
  throw new CredentialError(
    refusal === 'owner' ? 77 : 78,
    `DRAWBRIDGE_TOKEN: ${refusalMessages[refusal]}`,
  )
}
