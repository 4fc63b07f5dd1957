import { toPointer } from '../../../capability/contract.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { ManifestInterface } from '../reading/manifest-shape.ts'
import {
  truncate,
  type ExportableManifest,
  type ExportResult,
  type ExportWarning,
  findUnmappedFields,
  withIndices,
} from './export-result.ts'

export interface ServerJsonOptions {
  /** Reverse DNS, such as `com.example`: whoever publishes must prove that it is theirs. */
  readonly namespace: string
  /** Of the manifest's text: `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
}

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const reverseDns =
  /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)+$/
const longestName = 200
const longestText = 100
const longestVersion = 255

/** The entry of an MCP registry, of its schema 2025-12-11. */
export function toServerJson(manifest: ExportableManifest, options: ServerJsonOptions): ExportResult {
  const { identity, provenance } = manifest
  const { namespace, digest } = options
  const name = `${namespace}/${identity.id}`
  if (!reverseDns.test(namespace))
    return {
      fault: `The namespace ${JSON.stringify(namespace)} must be reverse DNS, such as com.example.`,
    }
  if (name.length > longestName)
    return { fault: `${name} has ${name.length} characters; a registry takes ${longestName}.` }
  if (identity.version.length > longestVersion)
    return {
      fault: `A registry takes a version of ${longestVersion} characters, not ${identity.version.length}.`,
    }

  const warnings: ExportWarning[] = []
  const shorten = (text: string, path: string): string => {
    if (text.length > longestText)
      warnings.push({
        path,
        message: `Cut from ${text.length} to ${longestText} characters: a registry takes no more.`,
      })
    return truncate(text, longestText)
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
    ...(repository && { repository }),
    ...(remotes.length > 0 && { remotes }),
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        'dev.drawbridge/manifest': { digest, schemaVersion: manifest.schema_version },
      },
    },
  }
  return { json, warnings: [...warnings, ...findUnmappedFields(manifest, kept, 'server.json')] }
}

/** What is in the entry, or has a warning of its own. */
const kept = [
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

/** The forges a registry knows how to ask. */
const forges = new Map([
  ['github.com', 'github'],
  ['gitlab.com', 'gitlab'],
])

function toRepository(url: string | undefined, warnings: ExportWarning[]): JsonObject | undefined {
  if (url === undefined) return undefined
  const source = forges.get(new URL(url).hostname.replace(/^www\./, ''))
  if (source !== undefined) return { url, source }
  const message = `A registry knows repositories on ${[...forges.keys()].join(' and ')} only; it is left out.`
  warnings.push({ path: '/provenance/source_repo', message })
  return undefined
}

function toRemotes(interfaces: ExportableManifest['interfaces'], warnings: ExportWarning[]): JsonObject[] {
  const remotes = withIndices(interfaces).flatMap(([at, one]) => {
    const warn = (key: string, message: string) =>
      warnings.push({ path: toPointer(['interfaces', at, key]), message })
    if (one.protocol !== 'MCP') {
      warn('protocol', `A registry lists MCP only, not ${one.protocol}; ${one.name} is left out.`)
      return []
    }
    const url = one.endpoint ?? ''
    if (!/^https?:\/\/[^\s]+$/.test(url) || !URL.canParse(url)) {
      warn(
        'endpoint',
        `Only an http or https address can be connected to; ${one.name} is left out.`,
      )
      return []
    }
    if (/^(?:localhost|127\.|\[::1\]|0\.0\.0\.0)/.test(new URL(url).host))
      warn('endpoint', 'It is an address of this machine: a public registry refuses it.')
    const { headers, message } = proofs[one.auth]
    if (message !== undefined) warn('auth', message)
    return [{ type: 'streamable-http', url, ...(headers && { headers }) }]
  })
  if (remotes.length === 0) {
    const message =
      'No MCP interface has an http or https address: nobody can connect with this entry alone.'
    warnings.push({ path: '/interfaces', message })
  }
  return remotes
}

interface Proof {
  readonly headers?: readonly JsonObject[]
  readonly message?: string
}

const aSecret = { isRequired: true, isSecret: true }

/** How a client is told to prove who it is. */
const proofs: Readonly<Record<ManifestInterface['auth'], Proof>> = {
  none: {},
  // Clients of MCP find the authorization server by themselves.
  oauth2: {},
  api_key: {
    headers: [{ name: 'X-API-Key', description: 'The API key.', ...aSecret }],
    message: 'A manifest does not name the header of an API key; X-API-Key is a guess.',
  },
  signed_jwt: {
    headers: [
      {
        name: 'Authorization',
        value: 'Bearer {token}',
        variables: { token: { description: 'A signed JWT.', ...aSecret } },
        ...aSecret,
      },
    ],
  },
  mTLS: { message: 'server.json has no field for client certificates; say it elsewhere.' },
}
