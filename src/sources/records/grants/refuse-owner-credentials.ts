import { CredentialError } from '../../../capability/setup-error.ts'
import type { TokenGate } from './token-gate.ts'
import { refusalMessages } from './token-refusal.ts'

/** Environment variables that hold an owner's credential. */
const ownerVariables = ['PDPP_OWNER_TOKEN', 'PDPP_OWNER_SESSION_COOKIE', 'DRAWBRIDGE_OWNER_TOKEN']

/** Refuses to start a server that could read with an owner's credential instead of a grant. */
export function refuseOwnerCredentials(
  gate: TokenGate | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  config: unknown,
): void {
  const variable =
    ownerVariables.find((name) => environment[name] !== undefined) ??
    Object.keys(environment).find((name) => gate?.containsOwnerToken(environment[name] ?? ''))
  if (variable !== undefined)
    throw new CredentialError(
      77,
      `The environment variable ${variable} holds an owner credential. ${refusalMessages.owner}`,
    )
  if (gate?.containsOwnerToken(JSON.stringify(config)))
    throw new CredentialError(
      77,
      `The configuration contains an owner token. ${refusalMessages.owner}`,
    )
}
