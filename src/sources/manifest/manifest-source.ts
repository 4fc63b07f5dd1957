import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Reading } from '../../capability/source.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { type GuardedFetch, toGuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import type { UpstreamSource } from '../../upstream/egress/upstream-source.ts'
import { composePipeline } from './compose-pipeline.ts'
import { findDroppedFields } from './dropped-fields.ts'
import type { BoundSecret, SecretBindings } from './invoke/bind-secret.ts'
import {
  type CapabilityRoute,
  findRoute,
  type LoadedHandler,
  type UpstreamProtocols,
  type UpstreamRoute,
} from './invoke/routes.ts'
import { toHandlerInvoke, toUpstreamInvoke } from './invoke/to-invoke.ts'
import { Upstreams } from './invoke/upstreams.ts'
import type { ManifestCapability } from './reading/manifest-shape.ts'
import {
  type Indexed,
  type ManifestReading,
  readManifest,
  type ValidManifest,
} from './reading/read-manifest.ts'
import { findSecrets } from './reading/scan-secrets.ts'
import { bundleSchema } from './schemas/bundle-schema.ts'
import type { LoadReference } from './schemas/load-reference.ts'
import { isAmbiguous, toInputSchema, toOutputSchema } from './schemas/to-schema.ts'
import { toCapability } from './to-capability.ts'
import { toExtension } from './to-extension.ts'

export interface ManifestOptions {
  /** Names the source in diagnostics, audit and `_meta`. */
  readonly id: string
  /** The file name printed before line and column. */
  readonly file: string
  readonly text: () => Promise<string>
  readonly handlers: () => Promise<ReadonlyMap<string, LoadedHandler>>
  readonly extensions: readonly string[]
  readonly strict: boolean
  /** Serve capabilities whose `protocols` do not include MCP too. */
  readonly all: boolean
  /** Serve a composition of type pipeline as one capability. */
  readonly compose: boolean
  readonly loadReference: (fetch: GuardedFetch) => LoadReference
  readonly protocols: UpstreamProtocols
  /** Resolves `env://`, `vault://` and `kms://` references; called lazily, when an agent is called. */
  readonly resolveSecret: (reference: string) => Promise<string | undefined>
  /** True for a reference that certainly has no value; asked when the manifest is read. */
  readonly isUnset: (reference: string) => boolean
  /** The operator's bindings of secrets to interfaces and hosts. */
  readonly secrets: SecretBindings
}

/** A source of the capabilities of an AgentHub manifest, with its declared rules enforced. */
export function manifestSourceFrom(options: ManifestOptions): UpstreamSource {
  const upstreams = new Upstreams(options)
  return {
    id: options.id,
    read: () => toReading(options, upstreams),
    connectUpstreams: (host) => upstreams.connect(host),
    destinations: ({ origin }) => upstreams.destinations(origin.pointer),
    close: () => upstreams.close(),
  }
}

async function toReading(options: ManifestOptions, upstreams: Upstreams): Promise<Reading> {
  const { id: source, file, extensions, strict } = options
  const reading = readManifest(await options.text(), { source, file, extensions, strict })
  const { manifest } = reading
  if (!manifest) return { capabilities: [], diagnostics: reading.diagnostics }
  const diagnostics: Diagnostic[] = [...reading.diagnostics]
  const handlers = await options.handlers()
  const servedCapabilities = manifest.capabilities.filter(
    ({ protocols }) => options.all || protocols.includes('MCP'),
  )
  for (const { pointer, message } of findDroppedFields(
    manifest,
    new Set(servedCapabilities.map(({ index }) => index)),
  ))
    diagnostics.push({
      code: 'field_dropped',
      severity: 'warning',
      message,
      source,
      pointer,
      at: reading.positionOf(pointer.slice(1).split('/')),
    })
  const loader = new CapabilityLoader(options, upstreams, manifest, handlers, reading, diagnostics)
  for (const name of Object.keys(options.secrets))
    if (!manifest.interfaces.some((one) => one.name === name))
      loader.report(
        'error',
        'secret_binding',
        '/interfaces',
        `A secret is bound to the interface ${JSON.stringify(name)}, which the manifest does not have.`,
      )
  upstreams.forgetDestinations()
  const capabilities: Capability[] = []
  for (const capability of servedCapabilities) capabilities.push(...(await loader.load(capability)))
  if (options.compose)
    capabilities.push(...composePipeline(manifest, capabilities, loader.report, source))
  return {
    capabilities,
    diagnostics,
    about: {
      name: manifest.identity.id,
      version: manifest.identity.version,
      title: manifest.identity.name,
      description: manifest.identity.description,
      extension: toExtension(manifest),
    },
  }
}

/** Loads capabilities one by one; an invalid one is reported and does not affect the others. */
class CapabilityLoader {
  readonly #options: ManifestOptions
  readonly #upstreams: Upstreams
  readonly #manifest: ValidManifest
  readonly #handlers: ReadonlyMap<string, LoadedHandler>
  readonly #reading: ManifestReading
  readonly #diagnostics: Diagnostic[]
  readonly #duplicateIds: ReadonlySet<string>
  readonly #loadReference: LoadReference
  readonly #checkedInterfaces = new Set<number>()

  constructor(
    options: ManifestOptions,
    upstreams: Upstreams,
    manifest: ValidManifest,
    handlers: ReadonlyMap<string, LoadedHandler>,
    reading: ManifestReading,
    diagnostics: Diagnostic[],
  ) {
    this.#options = options
    this.#upstreams = upstreams
    this.#manifest = manifest
    this.#handlers = handlers
    this.#reading = reading
    this.#diagnostics = diagnostics
    this.#loadReference = options.loadReference(toGuardedFetch(upstreams.egress))
    const ids = manifest.capabilities.map(({ id }) => id)
    this.#duplicateIds = new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
  }

  readonly report = (
    severity: Diagnostic['severity'],
    code: string,
    pointer: string,
    message: string,
  ): void => {
    const at = this.#reading.positionOf(pointer.slice(1).split('/').map(toSegment))
    this.#diagnostics.push({ code, severity, message, source: this.#options.id, pointer, at })
  }

  async load(capability: Indexed<ManifestCapability>): Promise<Capability[]> {
    const { id, index, side_effect_level, input_schema, output_schema } = capability
    const pointer = `/capabilities/${index}`
    if (this.#duplicateIds.has(id)) return []
    if (isAmbiguous(input_schema) || isAmbiguous(output_schema)) return []
    if (side_effect_level !== 'none' && !this.#manifest.isGoverned) {
      const message = `${id} has side effects and is not served: the sections that govern them (trust, runtime, requirements) are not valid.`
      this.report('error', 'effect_ungoverned', pointer, message)
      return []
    }
    const route = findRoute(this.#manifest, capability, {
      handlers: this.#handlers,
      secrets: this.#options.secrets,
    })
    if (isFault(route)) {
      this.report('error', 'route_missing', pointer, route.fault)
      return []
    }
    const declaration = toCapability(this.#manifest, capability, route.interface, this.#options.id)
    const input = await this.#contract(toInputSchema(input_schema), 'input', id, pointer)
    const output = await this.#contract(toOutputSchema(output_schema), 'output', id, pointer)
    if (!input || !output) return []
    if (route.kind === 'upstream') this.#checkUpstream(route, pointer)
    const invoke = this.#toInvoke(route, {
      id,
      isWrapped: 'type' in input_schema && input_schema.type !== 'object',
      writes: declaration.effects.writes,
      repeatable: declaration.effects.repeatable,
      retries: this.#manifest.runtime.max_retries,
    })
    return [Object.freeze({ ...declaration, input, output, invoke, ...toTarget(route) })]
  }

  #toInvoke(
    route: CapabilityRoute,
    options: Parameters<typeof toUpstreamInvoke>[1],
  ): Capability['invoke'] {
    return route.kind === 'handler'
      ? toHandlerInvoke(route.run, options)
      : toUpstreamInvoke(() => this.#upstreams.open(route), options)
  }

  /** Reports, once for each interface, what would make all calls over it fail. */
  #checkUpstream(route: UpstreamRoute, capabilityPointer: string): void {
    const { name, index, endpoint = '' } = route.interface
    this.#upstreams.addDestination(capabilityPointer, route)
    if (this.#checkedInterfaces.has(index)) return
    this.#checkedInterfaces.add(index)
    const { verdict, why } = this.#upstreams.egress.preview(endpoint)
    if (verdict === 'refused') {
      const message = `The interface ${name} cannot be reached: ${why}.`
      this.report('error', 'egress_refused', `/interfaces/${index}/endpoint`, message)
    }
    const { secret } = route
    const reason = secret && (isFault(secret) ? secret.fault : this.#findUnset(secret))
    if (reason !== undefined) {
      const message = `The interface ${name} has no usable secret, so every call over it fails: ${reason}.`
      const code = secret && isFault(secret) ? 'secret_unbound' : 'secret_unset'
      this.report('warning', code, `/interfaces/${index}/auth`, message)
    }
  }

  #findUnset({ name }: BoundSecret): string | undefined {
    return this.#options.isUnset(name) ? `${name} has no value` : undefined
  }

  async #contract(schema: JsonObject, direction: 'input' | 'output', id: string, base: string) {
    const pointer = `${base}/${direction}_schema`
    try {
      const bundledSchema = await bundleSchema(schema, this.#loadReference)
      if (findSecrets(bundledSchema).length > 0)
        throw new Error('a referenced schema contains a secret')
      const reading = readContract(bundledSchema, direction)
      if (!isFault(reading)) return reading.contract
      this.report('error', 'schema_unusable', pointer, `${id} is not served: ${reading.fault}.`)
    } catch (error) {
      const message = `${id} is not served: ${(error as Error).message}.`
      this.report('error', 'reference_unresolved', pointer, message)
    }
    return undefined
  }
}

/** What a call runs: the code of a handler, or an interface of the agent. */
function toTarget(route: CapabilityRoute): Pick<Capability, 'destination' | 'code'> {
  if (route.kind === 'handler') return { code: route.code }
  const { name, protocol, endpoint, auth } = route.interface
  const secret = route.secret && !isFault(route.secret) ? route.secret.name : undefined
  return { destination: dropUndefined({ interface: name, protocol, endpoint, auth, secret }) }
}

const toSegment = (segment: string): string | number =>
  /^\d+$/.test(segment) ? Number(segment) : segment
