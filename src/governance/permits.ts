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

/** `orders:*` covers `orders:read` and `orders:items:read`; `*` covers everything. */
function covers(scopes: ReadonlySet<string>, permission: string): boolean {
  if (scopes.has(permission) || scopes.has('*')) return true
  for (let end = permission.lastIndexOf(':'); end > 0; end = permission.lastIndexOf(':', end - 1))
    if (scopes.has(`${permission.slice(0, end)}:*`)) return true
  return false
}
