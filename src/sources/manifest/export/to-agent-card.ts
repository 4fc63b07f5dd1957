import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import type { ManifestCapability, ManifestInterface } from '../reading/manifest-shape.ts'
import {
  type ExportableManifest,
  type ExportResult,
  type ExportWarning,
  withIndices,
} from './export-result.ts'
import { findUnmappedFields } from './unmapped-fields.ts'

/** The A2A 1.0 agent card of a manifest that has an A2A interface. */
export function toAgentCard(manifest: ExportableManifest): ExportResult {
  const { identity } = manifest
  const warnings: ExportWarning[] = []
  const interfaces = toInterfaces(manifest.interfaces, warnings)
  if (interfaces.length === 0)
    return {
      fault: `${identity.id} has no interface with protocol A2A and an absolute URL, so it has no agent card. Add one to interfaces.`,
    }
  const auths = [...new Set(interfaces.map(({ auth }) => auth))]
  if (auths.length > 1) {
    const message = `An agent card has one list of security schemes for all interfaces; callers read: ${auths.join(' or ')}.`
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
  return {
    json,
    warnings: [...warnings, ...findUnmappedFields(manifest, exportedFields, 'An agent card')],
  }
}

/** Fields that are exported, or have a warning of their own. */
const exportedFields = [
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
  readonly index: number
  readonly url: string
}

function toInterfaces(
  interfaces: ExportableManifest['interfaces'],
  warnings: ExportWarning[],
): A2aInterface[] {
  return withIndices(interfaces).flatMap(
    ([index, { name, protocol, endpoint = '', auth, permissions }]) => {
      const warn = (key: string, message: string) =>
        warnings.push({ path: toPointer(['interfaces', index, key]), message })
      if (protocol !== 'A2A') {
        warn(
          'protocol',
          `An agent card lists A2A interfaces only; ${name} (${protocol}) is not exported.`,
        )
        return []
      }
      if (!/^https?:\/\//.test(endpoint) || !URL.canParse(endpoint)) {
        warn(
          'endpoint',
          `An agent card needs an absolute http or https URL; ${name} is not exported.`,
        )
        return []
      }
      if (endpoint.startsWith('http:')) warn('endpoint', 'A2A requires https in production.')
      warn(
        'protocol',
        'A manifest does not name the protocol binding; JSONRPC of A2A 1.0 is assumed.',
      )
      return [{ index, url: endpoint, auth, ...dropUndefined({ permissions }) }]
    },
  )
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
    message: 'A manifest does not name the header of an API key; X-API-Key is assumed.',
  },
  oauth2: {
    name: 'oauth2',
    // An OAuth flow is only valid with the URLs of its authorization server, which are not known.
    scheme: {
      httpAuthSecurityScheme: { scheme: 'Bearer', description: 'An OAuth 2.0 access token.' },
    },
    message:
      'A manifest does not name the authorization server; the card asks for a bearer token. Add the OAuth flow by hand.',
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
      warnings.push({ path: toPointer(['interfaces', one.index, 'auth']), message })
  return [[name, scheme]]
}

/** An empty requirement means that callers may be anonymous. */
const toRequirement = (auth: Auth, scopes: readonly string[]): JsonObject =>
  auth === 'none' ? { schemes: {} } : { schemes: { [schemes[auth].name]: { list: scopes } } }

/** The permissions that all of these interfaces require. */
function permissionsOf(interfaces: readonly A2aInterface[]): string[] {
  const [first, ...others] = interfaces.map(({ permissions = [] }) => permissions)
  return (first ?? []).filter((scope) => others.every((one) => one.includes(scope)))
}

function toSkills(
  { capabilities, identity }: ExportableManifest,
  auths: readonly Auth[],
  warnings: ExportWarning[],
): JsonObject[] {
  const skills = withIndices(capabilities).flatMap(([index, capability]) => {
    const warn = (key: string, message: string) =>
      warnings.push({ path: toPointer(['capabilities', index, key]), message })
    if (capability.protocols.includes('A2A'))
      return [toSkill(capability, identity.tags, auths, warn)]
    warn('protocols', `${capability.id} is not offered over A2A and is not exported.`)
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
  const authMethods = auths.filter((auth) => auth !== 'none')
  const isRestricted = permissions.length > 0 && authMethods.length > 0
  if (permissions.length > 0 && authMethods.length === 0)
    warn(
      'permissions',
      `No interface authenticates callers, so the card cannot require the permissions of ${id}.`,
    )
  return {
    id,
    name,
    description,
    tags: [...new Set([category, ...tags])],
    ...dropUndefined({
      securityRequirements: isRestricted
        ? authMethods.map((auth) => toRequirement(auth, permissions))
        : undefined,
    }),
  }
}
