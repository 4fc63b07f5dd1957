import type { ManifestInterface } from '../reading/manifest-shape.ts'
import type { DocumentPath, Fields, OpenApiDocument } from './openapi-document.ts'

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

export interface SecurityOptions {
  readonly document: OpenApiDocument
  /** The id of the manifest; prefix of invented permissions. */
  readonly id: string
}

const noSecurity: SecurityDraft = { permissions: [], schemes: [], notes: [] }

/** Uses the first security requirement of the operation, or of the document. */
export function toSecurityDraft(
  operation: Fields,
  path: DocumentPath,
  writes: boolean,
  { document, id }: SecurityOptions,
): SecurityDraft {
  const isOverridden = operation.security !== undefined
  const security = isOverridden ? operation.security : document.root.security
  const at = isOverridden ? [...path, 'security'] : ['security']
  if (security === undefined) return noSecurity
  if (!Array.isArray(security)) {
    document.reportFault(at, 'security must be a list.')
    return noSecurity
  }
  const alternatives = security.map(
    (item, index) => document.resolve(item, [...at, index])?.value ?? {},
  )
  const [requirement] = alternatives
  if (!requirement) return noSecurity
  if (alternatives.some((item) => Object.keys(item).length === 0))
    return {
      ...noSecurity,
      notes: ['It may also be called without authentication, so no permission is required.'],
    }
  const schemes = Object.keys(requirement).flatMap((name) =>
    toScheme(document, name, [...at, 0, name]),
  )
  const scopes = Object.values(requirement).flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  )
  const permissions = scopes.map((scope) => toPermission(scope, id))
  const changedScopes = scopes.filter((scope, index) => scope !== permissions[index])
  const inventedPermission = `${id}.${writes ? 'write' : 'read'}`
  return {
    permissions: scopes.length > 0 ? [...new Set(permissions)] : [inventedPermission],
    schemes,
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

function toScheme(document: OpenApiDocument, name: string, at: DocumentPath): AuthScheme[] {
  const path = ['components', 'securitySchemes', name]
  const components = document.resolve(document.root.components, ['components'])?.value
  const securitySchemes =
    document.resolve(components?.securitySchemes, path.slice(0, 2))?.value ?? {}
  const node = Object.hasOwn(securitySchemes, name)
    ? document.resolve(securitySchemes[name], path)
    : undefined
  if (!node) {
    document.reportFault(at, `components.securitySchemes has no scheme ${name}.`)
    return []
  }
  const { type, scheme, bearerFormat } = node.value
  const kind = type === 'http' ? `http ${String(scheme).toLowerCase()}` : String(type)
  const isJwt = kind === 'http bearer' && String(bearerFormat).toLowerCase() === 'jwt'
  const [auth, match] = isJwt ? exactJwt : (auths.get(kind) ?? fallback)
  return [{ name, auth, isExact: match === 'exact' }]
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
