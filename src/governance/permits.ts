import type { Caller } from '../capability/caller.ts'
import type { Capability } from '../capability/capability.ts'

/** The one predicate behind both the list and the call. */
export const permits = (caller: Caller, capability: Capability): boolean =>
  caller.scopes === 'all' || missingScopes(caller, capability).length === 0

export function missingScopes(caller: Caller, capability: Capability): readonly string[] {
  const { scopes } = caller
  const { permissions } = capability.rules
  if (scopes === 'all' || permissions.length === 0) return []
  return permissions.filter((permission) => !covers(scopes, permission))
}

export const hasScope = ({ scopes }: Caller, scope: string): boolean =>
  scopes === 'all' || covers(scopes, scope)

/**
 * A scope that ends in `:*` or `.*` covers what begins with the part before the `*` and goes on: `docs.*`
 * covers `docs.read` and `docs.read.all`, but neither `docs` nor `docs:read`. `*` covers everything.
 */
function covers(scopes: ReadonlySet<string>, permission: string): boolean {
  if (scopes.has(permission) || scopes.has('*')) return true
  for (let at = permission.length - 2; at > 0; at--)
    if (isSeparator(permission[at]) && scopes.has(`${permission.slice(0, at + 1)}*`)) return true
  return false
}

const isSeparator = (character: string | undefined): boolean =>
  character === ':' || character === '.'
