import type { ManifestInterface } from '../reading/manifest-shape.ts'
import type { DocumentPath, Fields, OpenApiDocument } from './openapi-document.ts'

type Auth = ManifestInterface['auth']

/** What a caller of an operation must hold, and how it proves that. */
export interface SecurityDraft {
  readonly permissions: readonly string[]
  readonly schemes: readonly AuthScheme[]
  /** What had to be guessed. */
  readonly doubts: readonly string[]
}

export interface AuthScheme {
  readonly name: string
  readonly auth: Auth
  /** Whether the document says so, or it is the nearest thing a manifest has. */
  readonly isExact: boolean
}

export interface SecurityOptions {
  readonly document: OpenApiDocument
  /** Of the manifest: permissions that have to be made up begin with it. */
  readonly id: string
}

const open: SecurityDraft = { permissions: [], schemes: [], doubts: [] }

/** The first way in that an operation, or the whole document, names. */
export function toSecurityDraft(
  operation: Fields,
  path: DocumentPath,
  writes: boolean,
  { document, id }: SecurityOptions,
): SecurityDraft {
  const own = operation.security !== undefined
  const security = own ? operation.security : document.root.security
  const at = own ? [...path, 'security'] : ['security']
  if (security === undefined) return open
  if (!Array.isArray(security)) {
    document.reportFault(at, 'security must be a list.')
    return open
  }
  const ways = security.map((way, index) => document.resolve(way, [...at, index])?.value ?? {})
  const [first] = ways
  if (!first) return open
  if (ways.some((way) => Object.keys(way).length === 0))
    return {
      ...open,
      doubts: ['It may also be called without any proof, so nothing is asked for.'],
    }
  const schemes = Object.keys(first).flatMap((name) => toScheme(document, name, [...at, 0, name]))
  const scopes = Object.values(first).flatMap((list) =>
    Array.isArray(list) ? list.map(String) : [],
  )
  const permissions = scopes.map((scope) => toPermission(scope, id))
  const changed = scopes.filter((scope, index) => scope !== permissions[index])
  const madeUp = `${id}.${writes ? 'write' : 'read'}`
  return {
    permissions: scopes.length > 0 ? [...new Set(permissions)] : [madeUp],
    schemes,
    doubts: [
      ...(ways.length > 1 ? [`There are ${ways.length} ways in; this is the first.`] : []),
      ...(scopes.length === 0 ? ['A proof is asked for, and no scope; this one is made up.'] : []),
      ...(changed.length > 0 ? [`Spelt as a manifest allows it, from ${changed.join(', ')}.`] : []),
    ],
  }
}

/** Lower case, and nothing but letters, digits and `_ . : -`, a letter first. */
function toPermission(scope: string, id: string): string {
  const plain = scope
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.:-]+/g, '.')
    .replace(/\.$/, '')
  return /^[a-z]/.test(plain) ? plain : `api-${id}.${plain}`
}

function toScheme(document: OpenApiDocument, name: string, at: DocumentPath): AuthScheme[] {
  const path = ['components', 'securitySchemes', name]
  const components = document.resolve(document.root.components, ['components'])?.value
  const all = document.resolve(components?.securitySchemes, path.slice(0, 2))?.value ?? {}
  const place = Object.hasOwn(all, name) ? document.resolve(all[name], path) : undefined
  if (!place) {
    document.reportFault(at, `There is no security scheme ${name} in components.securitySchemes.`)
    return []
  }
  const { type, scheme, bearerFormat } = place.value
  const kind = type === 'http' ? `http ${String(scheme).toLowerCase()}` : String(type)
  const isJwt = kind === 'http bearer' && String(bearerFormat).toLowerCase() === 'jwt'
  const [auth, certainty] = isJwt ? certainJwt : (auths.get(kind) ?? nearestToUnknown)
  return [{ name, auth, isExact: certainty === 'certain' }]
}

type Reading = readonly [auth: Auth, certainty: 'certain' | 'guess']

const certainJwt: Reading = ['signed_jwt', 'certain']
const nearestToUnknown: Reading = ['api_key', 'guess']

const auths: ReadonlyMap<string, Reading> = new Map([
  ['apiKey', ['api_key', 'certain']],
  ['oauth2', ['oauth2', 'certain']],
  ['openIdConnect', ['oauth2', 'guess']],
  ['mutualTLS', ['mTLS', 'certain']],
  ['http bearer', ['signed_jwt', 'guess']],
  ['http basic', ['api_key', 'guess']],
])
