import type { Manifest, ManifestInterface } from '../reading/manifest-shape.ts'
import { strictRuntime, strictTrust } from '../reading/strict-terms.ts'
import { hasMinLength, toSlug } from './names.ts'
import type { Fields, OpenApiDocument } from './openapi-document.ts'
import { removeSecrets } from './remove-secrets.ts'
import type { AddReview } from './schema-bundle.ts'
import {
  type ImportedOperation,
  methods,
  type Operation,
  toImportedOperation,
  toParameterNodes,
} from './to-imported-operation.ts'
import type { AuthScheme } from './to-security-draft.ts'
import { toVersion } from './to-version.ts'

/** A whole manifest: what the document says, and a cautious guess at what it does not. */
export function toDraft(document: OpenApiDocument, review: AddReview): Manifest {
  const identity = toIdentity(document, review)
  const imported: ImportedOperation[] = []
  for (const operation of toOperations(document)) {
    const at = ['capabilities', imported.length]
    review(at, `made from ${operation.method.toUpperCase()} ${operation.route}.`)
    imported.push(
      toImportedOperation(operation, {
        document,
        id: identity.id,
        taken: new Set(imported.map(({ capability }) => capability.id)),
        review: (path, message) => review([...at, ...path], message),
      }),
    )
  }
  if (imported.length === 0) document.reportFault(['paths'], 'There are no operations to import.')
  review(['capabilities'], 'each is offered over MCP, for Drawbridge to serve, and over HTTP.')
  if (document.root.webhooks !== undefined)
    review(['capabilities'], 'webhooks call the other way and are not imported.')
  const schemes = toSchemes(imported)
  const requirements = toRequirements(imported, schemes, identity.id, review)
  review(['trust'], 'OpenAPI says nothing about trust; these are cautious guesses.')
  review(['runtime'], 'OpenAPI says nothing about how it runs; these are cautious guesses.')
  const draft: Manifest = {
    schema_version: '0.1',
    identity,
    ...(requirements && { requirements }),
    capabilities: imported.map(({ capability }) => capability),
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
  const say = (field: string, message: string) => review(['identity', field], message)
  const title = toText(info.title)
  const slug = toSlug(title)
  say('id', slug === '' ? 'the document has no title.' : 'made from the title.')
  if (!hasMinLength(title, 3)) say('name', 'the document has no title.')
  const version = toVersion(toText(info.version) || String(info.version ?? ''))
  if (version !== info.version)
    say('version', `no semantic version: ${JSON.stringify(info.version ?? null)}.`)
  const described = [info.description, info.summary]
    .map(toText)
    .find((text) => hasMinLength(text, 12))
  if (described === undefined) say('description', 'the document does not describe itself.')
  const owner = [contact.name, contact.email].map(toText).find((text) => hasMinLength(text, 2))
  say('owner', owner === undefined ? 'the document names nobody.' : 'taken from the contact.')
  say('type', 'an API is taken for a service.')
  return {
    id: slug === '' ? 'imported-api' : slug,
    name: hasMinLength(title, 3) ? title : 'Imported API',
    version,
    description: described ?? 'An API imported from OpenAPI.',
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
      const shared = toParameterNodes(item.value.parameters, [...item.path, 'parameters'], document)
      return Object.keys(item.value)
        .filter(isMethod)
        .flatMap((method): Operation[] => {
          const place = document.resolve(item.value[method], [...item.path, method])
          return place ? [{ method, route, shared, ...place }] : []
        })
    })
}

const isMethod = (key: string): key is keyof typeof methods => Object.hasOwn(methods, key)

/** Each scheme once, those used first in front. */
const toSchemes = (imported: readonly ImportedOperation[]): AuthScheme[] => [
  ...new Map(
    imported.flatMap(({ security: guard }) =>
      guard.schemes.map((scheme) => [scheme.name, scheme] as const),
    ),
  ).values(),
]

function toRequirements(
  imported: readonly ImportedOperation[],
  schemes: readonly AuthScheme[],
  id: string,
  review: AddReview,
): Manifest['requirements'] {
  const permissions = [...new Set(imported.flatMap(({ security: guard }) => guard.permissions))]
  const secrets = schemes
    .filter(({ auth }) => auth !== 'mTLS')
    .map(({ name }) => ({
      id: `credential-${toSlug(name)}`.replace(/-$/, ''),
      secret_ref: `env://${toSlug(`${id} ${name}`).toUpperCase().replaceAll('-', '_')}`,
    }))
  if (secrets.length > 0)
    review(['requirements', 'secrets'], 'made up: where the credentials for the API will be found.')
  if (permissions.length === 0 && secrets.length === 0) return undefined
  return {
    ...(permissions.length > 0 && { permissions }),
    ...(secrets.length > 0 && { secrets }),
  }
}

function toInterface(
  document: OpenApiDocument,
  schemes: readonly AuthScheme[],
  review: AddReview,
): ManifestInterface {
  const say = (field: string, message: string) => review(['interfaces', 0, field], message)
  const [first] = schemes
  const kinds = [...new Set(schemes.map(({ auth }) => auth))]
  if (kinds.length > 1)
    say('auth', `a manifest takes one way to prove who calls; there are ${kinds.join(', ')}.`)
  if (first && !first.isExact)
    say('auth', `${first.name} has no name of its own in a manifest; this is the nearest.`)
  say(
    'endpoint',
    'calls go to <endpoint>/<capability id> as POST; an API with other paths needs handlers or something in between.',
  )
  const endpoint = toEndpoint(document, (message) => say('endpoint', message))
  say('privileged', 'OpenAPI does not say.')
  return {
    name: 'http',
    protocol: 'HTTP',
    endpoint,
    auth: first?.auth ?? 'none',
    privileged: false,
  }
}

const nowhere = 'https://api.example.com'

function toEndpoint({ root }: OpenApiDocument, doubt: (message: string) => void): string {
  const servers = Array.isArray(root.servers) ? (root.servers as readonly Fields[]) : []
  const [server] = servers
  if (servers.length > 1) doubt(`the first of ${servers.length} servers.`)
  const given = toText(server?.url)
  if (given === '') {
    doubt('the document names no server.')
    return nowhere
  }
  const variables = (server?.variables ?? {}) as Readonly<Record<string, Fields | undefined>>
  const url = given
    .replaceAll(/\{([^}]*)\}/g, (_, name: string) => String(variables[name]?.default ?? name))
    .replace(/\/+$/, '')
  if (url !== given.replace(/\/+$/, '')) doubt(`${given} with the defaults of its variables.`)
  // Who calls is nobody else's business.
  const anonymous = url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1')
  if (!/^https?:\/\//i.test(anonymous)) doubt('the address is relative; write the whole one.')
  if (/^[^\s<>"{}|\\^`]+$/.test(anonymous)) return anonymous
  doubt(`${JSON.stringify(given)} is no address.`)
  return nowhere
}
