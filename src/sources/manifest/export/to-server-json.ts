import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { toPointer } from '../../../json/to-pointer.ts'
import { isLoopbackUrl } from '../../../upstream/loopback.ts'
import type { ManifestInterface } from '../reading/manifest-shape.ts'
import {
  type ExportableManifest,
  type ExportResult,
  type ExportWarning,
  truncate,
  withIndices,
} from './export-result.ts'
import { findUnmappedFields } from './unmapped-fields.ts'

export interface ServerJsonOptions {
  /** Reverse DNS, such as `com.example`; the registry verifies that the publisher owns it. */
  readonly namespace: string
  /** Digest of the manifest's text: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
}

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const reverseDns =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)+$/
const maxNameLength = 200
const maxTextLength = 100
const maxVersionLength = 255

/** The `server.json` of the MCP registry, schema 2025-12-11. */
export function toServerJson(
  manifest: ExportableManifest,
  options: ServerJsonOptions,
): ExportResult {
  const { identity, provenance } = manifest
  const { namespace, digest } = options
  const name = `${namespace}/${identity.id}`
  if (!reverseDns.test(namespace))
    return {
      fault: `The namespace ${JSON.stringify(namespace)} must be reverse DNS, such as com.example.`,
    }
  if (name.length > maxNameLength)
    return {
      fault: `${name} has ${name.length} characters; a registry accepts at most ${maxNameLength}.`,
    }
  if (identity.version.length > maxVersionLength)
    return {
      fault: `The version has ${identity.version.length} characters; a registry accepts at most ${maxVersionLength}.`,
    }

  const warnings: ExportWarning[] = []
  const shorten = (text: string, path: string): string => {
    if (text.length > maxTextLength)
      warnings.push({
        path,
        message: `Shortened from ${text.length} to ${maxTextLength} characters, the limit of a registry.`,
      })
    return truncate(text, maxTextLength)
  }
  const title = shorten(identity.name, '/identity/name')
  const description = shorten(identity.description, '/identity/description')
  const repository = toRepository(provenance?.source_repo, warnings)
  const remotes = toRemotes(manifest.interfaces, warnings)
  const json: JsonObject = {
    $schema: schema,
    name,
    title,
    description,
    version: identity.version,
    ...dropUndefined({ repository, remotes: remotes.length > 0 ? remotes : undefined }),
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        'dev.drawbridge/manifest': { digest, schemaVersion: manifest.schema_version },
      },
    },
  }
  return {
    json,
    warnings: [...warnings, ...findUnmappedFields(manifest, exportedFields, 'server.json')],
  }
}

/** Fields that are exported, or have a warning of their own. */
const exportedFields = [
  '/schema_version',
  '/identity/id',
  '/identity/name',
  '/identity/version',
  '/identity/description',
  '/interfaces/*/protocol',
  '/interfaces/*/endpoint',
  '/interfaces/*/auth',
  '/provenance/source_repo',
]

/** Repository hosts that the registry supports. */
const forges = new Map([
  ['github.com', 'github'],
  ['gitlab.com', 'gitlab'],
])

function toRepository(url: string | undefined, warnings: ExportWarning[]): JsonObject | undefined {
  if (url === undefined) return undefined
  const source = forges.get(new URL(url).hostname.replace(/^www\./, ''))
  if (source !== undefined) return { url, source }
  const message = `A registry accepts repositories on ${[...forges.keys()].join(' and ')} only; this one is not exported.`
  warnings.push({ path: '/provenance/source_repo', message })
  return undefined
}

function toRemotes(
  interfaces: ExportableManifest['interfaces'],
  warnings: ExportWarning[],
): JsonObject[] {
  const remotes = withIndices(interfaces).flatMap(([index, one]) => {
    const warn = (key: string, message: string) =>
      warnings.push({ path: toPointer(['interfaces', index, key]), message })
    if (one.protocol !== 'MCP') {
      warn(
        'protocol',
        `A registry lists MCP interfaces only; ${one.name} (${one.protocol}) is not exported.`,
      )
      return []
    }
    const url = one.endpoint ?? ''
    if (!/^https?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) {
      warn('endpoint', `The endpoint must be an http or https URL; ${one.name} is not exported.`)
      return []
    }
    if (isLoopbackUrl(url) || new URL(url).hostname === '0.0.0.0')
      warn('endpoint', 'The endpoint is a loopback address, which a public registry rejects.')
    const { headers, message } = authHeaders[one.auth]
    if (message !== undefined) warn('auth', message)
    return [{ type: 'streamable-http', url, ...dropUndefined({ headers }) }]
  })
  if (remotes.length === 0) {
    const message =
      'No MCP interface has an http or https URL: clients cannot connect with this entry alone.'
    warnings.push({ path: '/interfaces', message })
  }
  return remotes
}

interface AuthHeaders {
  readonly headers?: readonly JsonObject[]
  readonly message?: string
}

const requiredSecret = { isRequired: true, isSecret: true }

/** The headers that a client must send, by authentication method. */
const authHeaders: Readonly<Record<ManifestInterface['auth'], AuthHeaders>> = {
  none: {},
  // MCP clients discover the authorization server themselves (RFC 9728).
  oauth2: {},
  api_key: {
    headers: [{ name: 'X-API-Key', description: 'The API key.', ...requiredSecret }],
    message: 'A manifest does not name the header of an API key; X-API-Key is assumed.',
  },
  signed_jwt: {
    headers: [
      {
        name: 'Authorization',
        value: 'Bearer {token}',
        variables: { token: { description: 'A signed JWT.', ...requiredSecret } },
        ...requiredSecret,
      },
    ],
  },
  mTLS: {
    message:
      'server.json has no field for client certificates; document the requirement elsewhere.',
  },
}
