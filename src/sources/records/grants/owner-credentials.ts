import type { TokenGate } from './token-gate.ts'

/** Environment variables that hold an owner's credential. */
const ownerVariables = ['PDPP_OWNER_TOKEN', 'PDPP_OWNER_SESSION_COOKIE', 'DRAWBRIDGE_OWNER_TOKEN']

/**
 * Says where a server that is about to start would find an owner's credential. Such a server could read
 * with it instead of a grant.
 */
export function findOwnerCredential(
  gate: TokenGate | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  config: unknown,
): string | undefined {
  const variable =
    ownerVariables.find((name) => environment[name] !== undefined) ??
    Object.keys(environment).find((name) => gate?.containsOwnerToken(environment[name] ?? ''))
  if (variable !== undefined)
    return `The environment variable ${variable} holds an owner credential.`
  return gate?.containsOwnerToken(JSON.stringify(config))
    ? 'The configuration contains an owner token.'
    : undefined
}
