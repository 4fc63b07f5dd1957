import { isFault } from '../../../capability/fault.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Api } from '../../../openapi/api.ts'
import { compileOperation } from '../../../openapi/compile-operation.ts'
import type { Finding } from '../../../openapi/findings.ts'
import { withoutCredentials } from '../../../openapi/hide-credentials.ts'
import { SchemaTranslator } from '../../../openapi/schemas.ts'
import { findServer } from '../../../openapi/servers.ts'
import type { Manifest, ManifestInterface } from '../reading/manifest-shape.ts'
import { strictRuntime, strictTrust } from '../reading/strict-terms.ts'
import type { AddReview, DraftOptions } from './from-openapi.ts'
import { hasMinLength, toManifestIds, toSlug } from './slugs.ts'
import { type DraftedCapability, toDraftedCapability } from './to-drafted-capability.ts'
import type { AuthScheme } from './to-security-draft.ts'
import { toVersion } from './to-version.ts'

export interface Draft {
  readonly draft: Manifest
  /** Problems of the document; the draft is not complete then. */
  readonly faults: readonly Finding[]
}

/** A complete manifest: the document's content, and cautious guesses for the rest. */
export function toDraft(api: Api, options: DraftOptions, review: AddReview): Draft {
  const { document, findings } = api
  const identity = toIdentity(document.root.info, review)
  const ids = toManifestIds(api.operations.map(({ id }) => id))
  const outputs = new SchemaTranslator(document, 'output')
  const inputs = new SchemaTranslator(document, 'input')
  const drafted = api.operations.map((declared, index) => {
    const at = ['capabilities', index]
    review(at, `made from ${declared.method.toUpperCase()} ${declared.route}.`)
    const operation = compileOperation(document, declared, inputs)
    const [schemes = []] = operation.security
    return toDraftedCapability(withoutCredentials(operation, schemes), {
      document,
      manifestId: identity.id,
      id: ids.get(declared.id) as string,
      outputs,
      review: (path, message) => review([...at, ...path], message),
    })
  })
  const faults = [...findings.faults, ...drafted.flatMap((one) => one.faults)]
  if (api.operations.length === 0 && faults.length === 0)
    faults.push({ path: ['paths'], message: 'The document has no operations to import.' })
  review(['capabilities'], 'each is offered over MCP, for Drawbridge to serve, and over HTTP.')
  if (document.root.webhooks !== undefined)
    review(['capabilities'], 'webhooks are calls from the API to its clients and are not imported.')
  const schemes = toSchemes(drafted)
  const requirements = toRequirements(drafted, schemes, identity.id, review)
  review(['trust'], 'OpenAPI has no trust section; these are cautious guesses.')
  review(['runtime'], 'OpenAPI has no runtime section; these are cautious guesses.')
  const draft: Manifest = {
    schema_version: '0.1',
    identity,
    ...dropUndefined({ requirements }),
    capabilities: toCapabilities(drafted, options, review),
    interfaces: [toInterface(api, schemes, options, review)],
    trust,
    runtime,
  }
  return { draft, faults: unique(faults) }
}

const trust: Manifest['trust'] = {
  ...strictTrust,
  minimum_trust_score: 0.8,
  policy: { ...strictTrust.policy, pii_handling: 'mask', data_retention_days: 30 },
  credential_policy: { ...strictTrust.credential_policy, max_ttl_minutes: 60 },
}

const runtime: Manifest['runtime'] = { ...strictRuntime, max_retries: 1 }

/** Operations share what they refer to, and its faults. */
const unique = (faults: readonly Finding[]): readonly Finding[] => [
  ...new Map(faults.map((one) => [JSON.stringify([one.path, one.message]), one])).values(),
]

const toText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function toIdentity(declared: unknown, review: AddReview): Manifest['identity'] {
  const info = isPlainObject(declared) ? declared : {}
  const contact = isPlainObject(info.contact) ? info.contact : {}
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

/**
 * A manifest has no shared schemas: each capability repeats what it refers to. The schemas of responses
 * are copied only while they are small, because they can be many times as large as the document.
 */
function toCapabilities(
  drafted: readonly DraftedCapability[],
  { outputs }: DraftOptions,
  review: AddReview,
): Manifest['capabilities'] {
  const length = drafted.reduce(
    (sum, { capability }) => sum + JSON.stringify(capability.output_schema).length,
    0,
  )
  if (outputs ?? length <= maxOutputChars) return drafted.map(({ capability }) => capability)
  review(
    ['capabilities'],
    `the schemas of responses, ${length} characters, are left out: results are not checked. --outputs copies them.`,
  )
  return drafted.map(({ capability }) => {
    const { type } = capability.output_schema as { readonly type: 'object' }
    return { ...capability, output_schema: { type } }
  })
}

const maxOutputChars = 500_000

/** Distinct schemes, in the order of first use. */
const toSchemes = (drafted: readonly DraftedCapability[]): AuthScheme[] => [
  ...new Map(
    drafted.flatMap(({ security }) =>
      security.schemes.map((scheme) => [scheme.name, scheme] as const),
    ),
  ).values(),
]

function toRequirements(
  drafted: readonly DraftedCapability[],
  schemes: readonly AuthScheme[],
  id: string,
  review: AddReview,
): Manifest['requirements'] {
  const permissions = [...new Set(drafted.flatMap(({ security }) => security.permissions))]
  const secrets = schemes
    .filter(({ auth, name }) => auth !== 'mTLS' && hasMinLength(name, 2))
    .map(({ name }) => ({
      // The id binds the secret to the security scheme of the document.
      id: name,
      secret_ref: `env://${toSlug(`${id} ${name}`).toUpperCase().replaceAll('-', '_')}`,
    }))
  if (secrets.length > 0)
    review(
      ['requirements', 'secrets'],
      'invented: set where the credentials for the API are stored. The id is the name of the security scheme.',
    )
  if (permissions.length === 0 && secrets.length === 0) return undefined
  return dropUndefined({
    permissions: permissions.length > 0 ? permissions : undefined,
    secrets: secrets.length > 0 ? secrets : undefined,
  })
}

function toInterface(
  api: Api,
  schemes: readonly AuthScheme[],
  { documentPath }: DraftOptions,
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
    'schema_ref',
    'calls are sent as this document says: keep it beside the manifest. Without it, they are POST requests to <endpoint>/<capability id>.',
  )
  addReview('privileged', 'OpenAPI has no such field.')
  return {
    name: 'http',
    protocol: 'HTTP',
    endpoint: toEndpoint(api, (message) => addReview('endpoint', message)),
    auth: firstScheme?.auth ?? 'none',
    privileged: false,
    schema_ref: documentPath,
  }
}

const placeholderEndpoint = 'https://api.example.com'

function toEndpoint({ document, operations }: Api, addReview: (message: string) => void): string {
  const declared = Array.isArray(document.root.servers) ? document.root.servers : []
  if (declared.length > 1) addReview(`the first of ${declared.length} servers.`)
  const servers = declared.map(withoutUser)
  const [operation] = operations
  const server = operation
    ? findServer({ ...document, root: { servers } }, withoutServers(operation), {})
    : { fault: 'the document has no operation' }
  if (!isFault(server)) return server.href.replace(/\/+$/, '')
  addReview(`${server.fault}.`)
  return placeholderEndpoint
}

/** Removes `user:password@` from the URL. */
const withoutUser = (server: unknown): unknown =>
  isPlainObject(server) && typeof server.url === 'string'
    ? { ...server, url: server.url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1') }
    : server

const withoutServers = (operation: Api['operations'][number]): Api['operations'][number] => ({
  ...operation,
  value: {},
  item: { ...operation.item, value: {} },
})
