import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Manifest, ManifestInterface } from '../reading/manifest-shape.ts'
import { strictRuntime, strictTrust } from '../reading/strict-terms.ts'
import { hasMinLength, toSlug } from './names.ts'
import type { Fields, OpenApiDocument } from './openapi-document.ts'
import { removeSecrets } from './remove-secrets.ts'
import type { AddReview } from './schema-bundle.ts'
import {
  type ImportedOperation,
  methodSemantics,
  type Operation,
  toImportedOperation,
  toParameterNodes,
} from './to-imported-operation.ts'
import type { AuthScheme } from './to-security-draft.ts'
import { toVersion } from './to-version.ts'

/** A complete manifest: the document's content, and cautious guesses for the rest. */
export function toDraft(document: OpenApiDocument, review: AddReview): Manifest {
  const identity = toIdentity(document, review)
  const operations: ImportedOperation[] = []
  for (const operation of toOperations(document)) {
    const at = ['capabilities', operations.length]
    review(at, `made from ${operation.method.toUpperCase()} ${operation.route}.`)
    operations.push(
      toImportedOperation(operation, {
        document,
        id: identity.id,
        usedIds: new Set(operations.map(({ capability }) => capability.id)),
        review: (path, message) => review([...at, ...path], message),
      }),
    )
  }
  if (operations.length === 0)
    document.reportFault(['paths'], 'The document has no operations to import.')
  review(['capabilities'], 'each is offered over MCP, for Drawbridge to serve, and over HTTP.')
  if (document.root.webhooks !== undefined)
    review(['capabilities'], 'webhooks are calls from the API to its clients and are not imported.')
  const schemes = toSchemes(operations)
  const requirements = toRequirements(operations, schemes, identity.id, review)
  review(['trust'], 'OpenAPI has no trust section; these are cautious guesses.')
  review(['runtime'], 'OpenAPI has no runtime section; these are cautious guesses.')
  const draft: Manifest = {
    schema_version: '0.1',
    identity,
    ...dropUndefined({ requirements }),
    capabilities: operations.map(({ capability }) => capability),
    interfaces: [toInterface(document, schemes, review)],
    trust,
    runtime,
  }
  return removeSecrets(draft, review)
}

const trust: Manifest['trust'] = {
  ...strictTrust,
  minimum_trust_score: 0.8,
  policy: { ...strictTrust.policy, pii_handling: 'mask', data_retention_days: 30 },
  credential_policy: { ...strictTrust.credential_policy, max_ttl_minutes: 60 },
}

const runtime: Manifest['runtime'] = { ...strictRuntime, max_retries: 1 }

const toText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function toIdentity(document: OpenApiDocument, review: AddReview): Manifest['identity'] {
  const info = document.resolve(document.root.info, ['info'])?.value ?? {}
  const contact = document.resolve(info.contact, ['info', 'contact'])?.value ?? {}
  const addReview = (field: string, message: string) => review(['identity', field], message)
  const title = toText(info.title)
  const slug = toSlug(title)
  addReview('id', slug === '' ? 'the document has no title.' : 'made from the title.')
  if (!hasMinLength(title, 3)) addReview('name', 'the document has no title.')
  const version = toVersion(toText(info.version) || String(info.version ?? ''))
  if (version !== info.version)
    addReview('version', `not a semantic version: ${JSON.stringify(info.version ?? null)}.`)
  const description = [info.description, info.summary]
    .map(toText)
    .find((text) => hasMinLength(text, 12))
  if (description === undefined) addReview('description', 'the document has no description.')
  const owner = [contact.name, contact.email].map(toText).find((text) => hasMinLength(text, 2))
  addReview(
    'owner',
    owner === undefined ? 'the document has no contact.' : 'taken from the contact.',
  )
  addReview('type', 'APIs are imported as services.')
  return {
    id: slug === '' ? 'imported-api' : slug,
    name: hasMinLength(title, 3) ? title : 'Imported API',
    version,
    description: description ?? 'An API imported from OpenAPI.',
    owner: owner ?? 'unknown',
    type: 'service',
  }
}

function toOperations(document: OpenApiDocument): Operation[] {
  const paths = document.resolve(document.root.paths, ['paths'])?.value ?? {}
  return Object.keys(paths)
    .filter((route) => !route.startsWith('x-'))
    .flatMap((route) => {
      const item = document.resolve(paths[route], ['paths', route])
      if (!item) return []
      const sharedParameters = toParameterNodes(
        item.value.parameters,
        [...item.path, 'parameters'],
        document,
      )
      return Object.keys(item.value)
        .filter(isMethod)
        .flatMap((method): Operation[] => {
          const node = document.resolve(item.value[method], [...item.path, method])
          return node ? [{ method, route, sharedParameters, ...node }] : []
        })
    })
}

const isMethod = (key: string): key is keyof typeof methodSemantics =>
  Object.hasOwn(methodSemantics, key)

/** Distinct schemes, in the order of first use. */
const toSchemes = (operations: readonly ImportedOperation[]): AuthScheme[] => [
  ...new Map(
    operations.flatMap(({ security }) =>
      security.schemes.map((scheme) => [scheme.name, scheme] as const),
    ),
  ).values(),
]

function toRequirements(
  operations: readonly ImportedOperation[],
  schemes: readonly AuthScheme[],
  id: string,
  review: AddReview,
): Manifest['requirements'] {
  const permissions = [...new Set(operations.flatMap(({ security }) => security.permissions))]
  const secrets = schemes
    .filter(({ auth }) => auth !== 'mTLS')
    .map(({ name }) => ({
      id: `credential-${toSlug(name)}`.replace(/-$/, ''),
      secret_ref: `env://${toSlug(`${id} ${name}`).toUpperCase().replaceAll('-', '_')}`,
    }))
  if (secrets.length > 0)
    review(
      ['requirements', 'secrets'],
      'invented: set where the credentials for the API are stored.',
    )
  if (permissions.length === 0 && secrets.length === 0) return undefined
  return dropUndefined({
    permissions: permissions.length > 0 ? permissions : undefined,
    secrets: secrets.length > 0 ? secrets : undefined,
  })
}

function toInterface(
  document: OpenApiDocument,
  schemes: readonly AuthScheme[],
  review: AddReview,
): ManifestInterface {
  const addReview = (field: string, message: string) => review(['interfaces', 0, field], message)
  const [firstScheme] = schemes
  const kinds = [...new Set(schemes.map(({ auth }) => auth))]
  if (kinds.length > 1)
    addReview(
      'auth',
      `a manifest has one authentication method per interface; the document has ${kinds.join(', ')}.`,
    )
  if (firstScheme && !firstScheme.isExact)
    addReview(
      'auth',
      `a manifest has no exact equivalent of ${firstScheme.name}; this is the nearest.`,
    )
  addReview(
    'endpoint',
    'calls are sent as POST to <endpoint>/<capability id>; an API with other paths needs handlers or a gateway.',
  )
  const endpoint = toEndpoint(document, (message) => addReview('endpoint', message))
  addReview('privileged', 'OpenAPI has no such field.')
  return {
    name: 'http',
    protocol: 'HTTP',
    endpoint,
    auth: firstScheme?.auth ?? 'none',
    privileged: false,
  }
}

const placeholderEndpoint = 'https://api.example.com'

function toEndpoint({ root }: OpenApiDocument, addReview: (message: string) => void): string {
  const servers = Array.isArray(root.servers) ? (root.servers as readonly Fields[]) : []
  const [server] = servers
  if (servers.length > 1) addReview(`the first of ${servers.length} servers.`)
  const template = toText(server?.url)
  if (template === '') {
    addReview('the document has no server.')
    return placeholderEndpoint
  }
  const variables = (server?.variables ?? {}) as Readonly<Record<string, Fields | undefined>>
  const url = template
    .replaceAll(/\{([^}]*)\}/g, (_, name: string) => String(variables[name]?.default ?? name))
    .replace(/(?<!\/)\/+$/, '')
  if (url !== template.replace(/(?<!\/)\/+$/, ''))
    addReview(`${template} with the defaults of its variables.`)
  // Removes `user:password@` from the URL.
  const withoutUserinfo = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1')
  if (!/^https?:\/\//i.test(withoutUserinfo))
    addReview('the URL is relative; write the absolute one.')
  if (/^[^\s<>"{}|\\^`]+$/.test(withoutUserinfo)) return withoutUserinfo
  addReview(`${JSON.stringify(template)} is not a URL.`)
  return placeholderEndpoint
}
