import { toPointer } from '../../../capability/contract.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { ManifestCapability, ManifestInterface } from '../reading/manifest-shape.ts'
import {
  type ExportableManifest,
  type ExportResult,
  type ExportWarning,
  findUnmappedFields,
  withIndices,
} from './export-result.ts'

/** The agent card of A2A 1.0, where the manifest has an A2A interface. */
export function toAgentCard(manifest: ExportableManifest): ExportResult {
  const { identity } = manifest
  const warnings: ExportWarning[] = []
  const interfaces = toInterfaces(manifest.interfaces, warnings)
  if (interfaces.length === 0)
    return {
      fault: `${identity.id} has no interface with protocol A2A and an absolute address, so it has no agent card. Add one to interfaces.`,
    }
  const auths = [...new Set(interfaces.map(({ auth }) => auth))]
  if (auths.length > 1) {
    const message = `A card names its schemes once for all interfaces: ${auths.join(' or ')} is what callers read.`
    warnings.push({ path: '/interfaces', message })
  }
  const schemes = auths.flatMap((auth) => toScheme(auth, interfaces, warnings))
  const requirements = auths.map((auth) =>
    toRequirement(auth, permissionsOf(interfaces.filter((one) => one.auth === auth))),
  )
  const json: JsonObject = {
    name: identity.name,
    description: identity.description,
    version: identity.version,
    supportedInterfaces: interfaces.map(({ url }) => ({
      url,
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
    })),
    capabilities: {},
    defaultInputModes: ['application/json'],
    defaultOutputModes: ['application/json'],
    skills: toSkills(manifest, auths, warnings),
    ...(schemes.length > 0 && {
      securitySchemes: Object.fromEntries(schemes),
      securityRequirements: requirements,
    }),
  }
  return { json, warnings: [...warnings, ...findUnmappedFields(manifest, kept, 'An agent card')] }
}

/** What is on the card, or has a warning of its own. */
const kept = [
  '/identity/name',
  '/identity/description',
  '/identity/version',
  '/identity/tags',
  '/interfaces/*/protocol',
  '/interfaces/*/endpoint',
  '/interfaces/*/auth',
  '/interfaces/*/permissions',
  '/capabilities/*/id',
  '/capabilities/*/name',
  '/capabilities/*/description',
  '/capabilities/*/category',
  '/capabilities/*/protocols',
  '/capabilities/*/permissions',
]

interface A2aInterface extends Pick<ManifestInterface, 'auth' | 'permissions'> {
  readonly at: number
  readonly url: string
}

function toInterfaces(
  interfaces: ExportableManifest['interfaces'],
  warnings: ExportWarning[],
): A2aInterface[] {
  return withIndices(interfaces).flatMap(([at, { name, protocol, endpoint = '', auth, permissions }]) => {
    const warn = (key: string, message: string) =>
      warnings.push({ path: toPointer(['interfaces', at, key]), message })
    if (protocol !== 'A2A') {
      warn('protocol', `A card lists A2A only, not ${protocol}; ${name} is left out.`)
      return []
    }
    if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) {
      warn('endpoint', `A card needs an absolute http or https address; ${name} is left out.`)
      return []
    }
    if (endpoint.startsWith('http:')) warn('endpoint', 'In production A2A wants https.')
    warn('protocol', 'A manifest does not name the binding; JSONRPC of A2A 1.0 is a guess.')
    return [{ at, url: endpoint, auth, ...(permissions && { permissions }) }]
  })
}

type Auth = ManifestInterface['auth']

interface Scheme {
  readonly name: string
  readonly scheme: JsonObject
  readonly message?: string
}

const schemes: Readonly<Record<Exclude<Auth, 'none'>, Scheme>> = {
  api_key: {
    name: 'apiKey',
    scheme: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } },
    message: 'A manifest does not name the header of an API key; X-API-Key is a guess.',
  },
  oauth2: {
    name: 'oauth2',
    // A flow without the addresses of its authorization server would not be a valid one.
    scheme: {
      httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An OAuth 2.0 access token.' },
    },
    message:
      'A manifest does not say where tokens come from; the card asks for a bearer token. Add the flow by hand.',
  },
  signed_jwt: {
    name: 'signedJwt',
    scheme: { httpAuthSecurityScheme: { scheme: 'Bearer', bearerFormat: 'JWT' } },
  },
  mTLS: { name: 'mutualTls', scheme: { mtlsSecurityScheme: {} } },
}

function toScheme(
  auth: Auth,
  interfaces: readonly A2aInterface[],
  warnings: ExportWarning[],
): (readonly [string, JsonObject])[] {
  if (auth === 'none') return []
  const { name, scheme, message } = schemes[auth]
  for (const one of interfaces)
    if (message !== undefined && one.auth === auth)
      warnings.push({ path: toPointer(['interfaces', one.at, 'auth']), message })
  return [[name, scheme]]
}

/** Nothing is required where a caller may also come without any proof. */
const toRequirement = (auth: Auth, scopes: readonly string[]): JsonObject =>
  auth === 'none' ? { schemes: {} } : { schemes: { [schemes[auth].name]: { list: scopes } } }

/** What every one of these interfaces asks for. */
function permissionsOf(interfaces: readonly A2aInterface[]): string[] {
  const [first, ...others] = interfaces.map(({ permissions = [] }) => permissions)
  return (first ?? []).filter((scope) => others.every((one) => one.includes(scope)))
}

function toSkills(
  { capabilities, identity }: ExportableManifest,
  auths: readonly Auth[],
  warnings: ExportWarning[],
): JsonObject[] {
  const skills = withIndices(capabilities).flatMap(([at, capability]) => {
    const warn = (key: string, message: string) =>
      warnings.push({ path: toPointer(['capabilities', at, key]), message })
    if (capability.protocols.includes('A2A'))
      return [toSkill(capability, identity.tags, auths, warn)]
    warn('protocols', `${capability.id} is not offered over A2A and is left out.`)
    return []
  })
  if (skills.length === 0)
    warnings.push({
      path: '/capabilities',
      message: 'No capability is offered over A2A: the card has no skills.',
    })
  return skills
}

function toSkill(
  capability: ManifestCapability,
  tags: readonly string[] = [],
  auths: readonly Auth[],
  warn: (key: string, message: string) => void,
): JsonObject {
  const { id, name, description, category, permissions = [] } = capability
  const proved = auths.filter((auth) => auth !== 'none')
  const asks = permissions.length > 0 && proved.length > 0
  if (permissions.length > 0 && proved.length === 0)
    warn('permissions', `Callers prove nothing, so the card cannot say that ${id} needs them.`)
  return {
    id,
    name,
    description,
    tags: [...new Set([category, ...tags])],
    ...(asks && {
      securityRequirements: proved.map((auth) => toRequirement(auth, permissions)),
    }),
  }
}
