import type { SchemeUse, SecurityAlternatives } from '../../../openapi/security/schemes.ts'
import type { ManifestInterface } from '../reading/manifest-shape.ts'

type Auth = ManifestInterface['auth']

/** The permissions an operation requires, and how callers authenticate. */
export interface SecurityDraft {
  readonly permissions: readonly string[]
  readonly schemes: readonly AuthScheme[]
  /** Guesses to review. */
  readonly notes: readonly string[]
}

export interface AuthScheme {
  readonly name: string
  readonly auth: Auth
  /** `false` if the manifest has no exact equivalent and the nearest was chosen. */
  readonly isExact: boolean
}

const noSecurity: SecurityDraft = { permissions: [], schemes: [], notes: [] }

/** Uses the first alternative. `id` is that of the manifest: the prefix of invented permissions. */
export function toSecurityDraft(
  alternatives: SecurityAlternatives,
  writes: boolean,
  id: string,
): SecurityDraft {
  const [requirement = []] = alternatives
  if (alternatives.length > 1 && alternatives.some((item) => item.length === 0))
    return {
      ...noSecurity,
      notes: ['It may also be called without authentication, so no permission is required.'],
    }
  if (requirement.length === 0) return noSecurity
  const scopes = requirement.flatMap((use) => use.scopes)
  const permissions = scopes.map((scope) => toPermission(scope, id))
  const changedScopes = scopes.filter((scope, index) => scope !== permissions[index])
  const inventedPermission = `${id}.${writes ? 'write' : 'read'}`
  return {
    permissions: scopes.length > 0 ? [...new Set(permissions)] : [inventedPermission],
    schemes: requirement.map(toScheme),
    notes: [
      ...(alternatives.length > 1
        ? [`There are ${alternatives.length} security requirements; this is the first.`]
        : []),
      ...(scopes.length === 0
        ? ['Authentication is required but no scope is named; this one is invented.']
        : []),
      ...(changedScopes.length > 0
        ? [`Normalised to the manifest's syntax from ${changedScopes.join(', ')}.`]
        : []),
    ],
  }
}

/** Lower-case letters, digits and `_ . : -`, beginning with a letter. */
function toPermission(scope: string, id: string): string {
  const permission = scope
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.:-]+/g, '.')
    .replace(/\.$/, '')
  return /^[a-z]/.test(permission) ? permission : `api-${id}.${permission}`
}

function toScheme({ name, declared: { type, scheme, bearerFormat } }: SchemeUse): AuthScheme {
  const kind = type === 'http' ? `http ${String(scheme).toLowerCase()}` : String(type)
  const isJwt = kind === 'http bearer' && String(bearerFormat).toLowerCase() === 'jwt'
  const [auth, match] = isJwt ? exactJwt : (auths.get(kind) ?? fallback)
  return { name, auth, isExact: match === 'exact' }
}

type AuthMapping = readonly [auth: Auth, match: 'exact' | 'nearest']

const exactJwt: AuthMapping = ['signed_jwt', 'exact']
const fallback: AuthMapping = ['api_key', 'nearest']

const auths: ReadonlyMap<string, AuthMapping> = new Map([
  ['apiKey', ['api_key', 'exact']],
  ['oauth2', ['oauth2', 'exact']],
  ['openIdConnect', ['oauth2', 'nearest']],
  ['mutualTLS', ['mTLS', 'exact']],
  ['http bearer', ['signed_jwt', 'nearest']],
  ['http basic', ['api_key', 'nearest']],
])
