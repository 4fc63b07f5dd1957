import { type Fault, isFault } from '../../../capability/fault.ts'
import { Api } from '../../../openapi/api.ts'
import type { ApiClient, ApiTarget } from '../../../openapi/api-client.ts'
import { toApiUpstream } from '../../../openapi/api-upstream.ts'
import type { OpenApiDocument } from '../../../openapi/document.ts'
import { hideCredentials } from '../../../openapi/hide-credentials.ts'
import { type DocumentText, readDocument } from '../../../openapi/read-document.ts'
import { listSchemeNames } from '../../../openapi/security/schemes.ts'
import { bindSecrets, type SchemeSecrets } from '../../../openapi/security/secrets.ts'
import type { Upstream } from '../../../upstream/upstream.ts'
import { toManifestIds } from '../openapi/slugs.ts'
import type { ManifestInterface } from '../reading/manifest-shape.ts'
import type { Indexed, ValidManifest } from '../reading/read-manifest.ts'
import { bindSchemes } from './bind-schemes.ts'
import { bindSecret, type SecretBindings, toHost } from './bind-secret.ts'

/** An HTTP interface whose `schema_ref` is an OpenAPI document: calls are sent as the document says. */
export interface InterfaceApi {
  readonly upstream: Upstream
  /** By the id of the capability. */
  readonly targets: ReadonlyMap<string, ApiTarget | Fault>
  /** `env://`, `vault://` and `kms://` references of the secrets that a capability needs, by its id. */
  readonly references: ReadonlyMap<string, readonly string[]>
  /** The names of its security schemes, to which the operator can bind secrets. */
  readonly schemes: ReadonlySet<string>
  /** Digest of the document. */
  readonly digest: string
}

export interface InterfaceApiOptions {
  /** Reads a document below the folder of the manifest. Rejects with a message for the operator. */
  readonly readDocument: (reference: string) => Promise<DocumentText>
  readonly resolveSecret: (reference: string) => Promise<string | undefined>
  readonly secrets: SecretBindings
  readonly client: ApiClient
}

/** An interface with its document. */
export interface DescribedInterface {
  readonly interface: Indexed<ManifestInterface>
  readonly document: OpenApiDocument
  readonly schemes: ReadonlySet<string>
}

/** The interfaces that have such a document, by their index; a fault if it cannot be used. */
export async function openInterfaceApis(
  manifest: ValidManifest,
  options: InterfaceApiOptions,
): Promise<ReadonlyMap<number, InterfaceApi | Fault>> {
  const apis = new Map<number, InterfaceApi | Fault>()
  const described: DescribedInterface[] = []
  for (const one of manifest.interfaces) {
    const document = await readSchemaRef(one, options)
    if (!document) continue
    if (isFault(document)) apis.set(one.index, document)
    else described.push({ interface: one, document, schemes: listSchemeNames(document) })
  }
  for (const one of described)
    apis.set(one.interface.index, toInterfaceApi(one, described, manifest, options))
  return apis
}

/** Nothing if the reference is a URL, which is only a description, or to another kind of file. */
async function readSchemaRef(
  { protocol, schema_ref: reference }: ManifestInterface,
  { readDocument: read }: InterfaceApiOptions,
): Promise<OpenApiDocument | Fault | undefined> {
  const isUrl = reference === undefined || /^[a-z][a-z0-9+.-]*:/i.test(reference)
  if (protocol !== 'HTTP' || isUrl) return undefined
  const text = await read(reference).catch((error: Error) => error)
  if (text instanceof Error) return { fault: `its schema_ref cannot be read: ${text.message}` }
  // A plain JSON Schema, for example: the interface is called as one without a schema_ref.
  if (!/(?:^|[{,\s"'])(?:openapi|swagger)["']?\s*:/.test(text.text)) return undefined
  const document = await readDocument(text)
  if (!isFault(document)) return document
  const faults = document.fault.map(({ at, message }) => `${at} ${message}`)
  return { fault: `its schema_ref cannot be used: ${withoutDot(faults.join(' '))}` }
}

/** What quotes the text ends the sentence. */
const withoutDot = (text: string): string => text.replace(/\.$/, '')

function toInterfaceApi(
  described: DescribedInterface,
  all: readonly DescribedInterface[],
  manifest: ValidManifest,
  { resolveSecret, secrets: bindings, client }: InterfaceApiOptions,
): InterfaceApi {
  const { interface: agentInterface, document, schemes } = described
  const { endpoint, auth } = agentInterface
  const bound = bindSchemes(described, all, manifest, bindings)
  const ofInterface = bindSecret(agentInterface, manifest, bindings)
  const toSecrets = (reference: (scheme: string) => string | undefined): SchemeSecrets =>
    Object.fromEntries(
      [...schemes].flatMap((scheme) => {
        const name = reference(scheme)
        const host = bound.get(scheme)?.host ?? toHost(endpoint)
        return name === undefined
          ? []
          : [[scheme, { host, value: () => resolveSecret(name) }] as const]
      }),
    )
  const api = new Api(document, {
    server: endpoint,
    secrets: toSecrets((scheme) => bound.get(scheme)?.reference),
  })
  const ids = toManifestIds(api.operations.map(({ id }) => id))
  const wanted = new Set(manifest.capabilities.map(({ id }) => id))
  const targets = new Map<string, ApiTarget | Fault>()
  const references = new Map<string, readonly string[]>()
  for (const operation of api.operations) {
    const id = ids.get(operation.id) as string
    if (!wanted.has(id)) continue
    const target = api.toTarget(operation)
    const [fault] = target.operation.findings.faults
    if (fault)
      targets.set(id, { fault: `its operation is not valid: ${withoutDot(fault.message)}` })
    // The manifest says that no credentials are sent, whatever the document asks for.
    else if (auth === 'none') targets.set(id, { ...target, security: [] })
    else if (!isFault(target.security)) {
      targets.set(id, target)
      references.set(
        id,
        target.security.map(({ name }) => bound.get(name)?.reference ?? ''),
      )
    } else if (ofInterface && !isFault(ofInterface) && !isFault(target.server)) {
      // One secret is for one credential.
      const single = target.operation.security.filter(({ length }) => length === 1)
      const security = bindSecrets(
        single,
        toSecrets(() => ofInterface.name),
        { url: target.server, isFromOperator: true },
      )
      const chosen = single.length === 0 ? target.security : security
      targets.set(id, hideCredentials({ ...target, security: chosen }))
      references.set(id, [ofInterface.name])
    } else targets.set(id, target)
  }
  const callable = new Map(
    [...targets].flatMap(([id, target]) => (isFault(target) ? [] : [[id, target]])),
  )
  const { digest } = document
  return { upstream: toApiUpstream(client, callable), targets, references, schemes, digest }
}
