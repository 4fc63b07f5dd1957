import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import type { JsonObject } from '../../capability/json.ts'
import type { Reading, Source } from '../../capability/source.ts'
import { readContract } from '../../contracts/read-contract.ts'
import type { Credential, Upstream } from '../../upstream/upstream.ts'
import { composePipeline } from './compose-pipeline.ts'
import {
  type CapabilityRoute,
  findRoute,
  type ManifestHandler,
  type Protocols,
} from './invoke/routes.ts'
import { toHandlerInvoke, toUpstreamInvoke } from './invoke/to-invoke.ts'
import type { ManifestCapability, ManifestInterface } from './reading/manifest-shape.ts'
import {
  type ManifestReading,
  type Indexed,
  readManifest,
  type ValidManifest,
} from './reading/read-manifest.ts'
import { findSecrets } from './reading/scan-secrets.ts'
import { bundleSchema } from './schemas/bundle-schema.ts'
import type { LoadReference } from './schemas/load-reference.ts'
import { isAmbiguous, toInputSchema, toOutputSchema } from './schemas/to-schema.ts'
import { toCapability } from './to-capability.ts'
import { toDropped, toExtension } from './to-extension.ts'

export interface ManifestOptions {
  /** What diagnostics, audit and `_meta` call it. */
  readonly id: string
  /** As it is printed before line and column. */
  readonly file: string
  readonly text: () => Promise<string>
  readonly handlers: () => Promise<ReadonlyMap<string, ManifestHandler>>
  readonly extensions: readonly string[]
  readonly strict: boolean
  /** Whether capabilities that are not offered over MCP are served too. */
  readonly all: boolean
  /** Whether a composition of type pipeline is a capability of its own. */
  readonly compose: boolean
  readonly loadReference: LoadReference
  readonly protocols: Protocols
  /** What `env://`, `vault://` and `kms://` stand for; asked only when an agent is called. */
  readonly resolveSecret: (reference: string) => Promise<string | undefined>
}

/** An AgentHub manifest, with every promise in it kept. */
export function manifestSource(options: ManifestOptions): Source {
  const upstreams = new Upstreams(options)
  return {
    id: options.id,
    read: () => toReading(options, upstreams),
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
  const offered = manifest.capabilities.filter(
    ({ protocols }) => options.all || protocols.includes('MCP'),
  )
  for (const { pointer, message } of toDropped(
    manifest,
    new Set(offered.map(({ index }) => index)),
  ))
    diagnostics.push({
      code: 'field_dropped',
      severity: 'warning',
      message,
      source,
      pointer,
      at: reading.whereIs(pointer.slice(1).split('/')),
    })
  const loader = new Loader(options, upstreams, manifest, handlers, reading, diagnostics)
  const capabilities: Capability[] = []
  for (const one of offered) capabilities.push(...(await loader.load(one)))
  if (options.compose)
    capabilities.push(...composePipeline(manifest, capabilities, loader.say, source))
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

/** One capability after the other; what is wrong with one is said and leaves the others alone. */
class Loader {
  readonly #options: ManifestOptions
  readonly #upstreams: Upstreams
  readonly #manifest: ValidManifest
  readonly #handlers: ReadonlyMap<string, ManifestHandler>
  readonly #reading: ManifestReading
  readonly #diagnostics: Diagnostic[]
  readonly #twins: ReadonlySet<string>

  constructor(
    options: ManifestOptions,
    upstreams: Upstreams,
    manifest: ValidManifest,
    handlers: ReadonlyMap<string, ManifestHandler>,
    reading: ManifestReading,
    diagnostics: Diagnostic[],
  ) {
    this.#options = options
    this.#upstreams = upstreams
    this.#manifest = manifest
    this.#handlers = handlers
    this.#reading = reading
    this.#diagnostics = diagnostics
    const ids = manifest.capabilities.map(({ id }) => id)
    this.#twins = new Set(ids.filter((id, index) => ids.indexOf(id) !== index))
  }

  readonly say = (
    severity: Diagnostic['severity'],
    code: string,
    pointer: string,
    message: string,
  ): void => {
    const at = this.#reading.whereIs(pointer.slice(1).split('/').map(toStep))
    this.#diagnostics.push({ code, severity, message, source: this.#options.id, pointer, at })
  }

  async load(capability: Indexed<ManifestCapability>): Promise<Capability[]> {
    const { id, index, side_effect_level, input_schema, output_schema } = capability
    const pointer = `/capabilities/${index}`
    if (this.#twins.has(id)) return []
    if (isAmbiguous(input_schema) || isAmbiguous(output_schema)) return []
    if (side_effect_level !== 'none' && !this.#manifest.whole) {
      const message = `${id} has side effects and is left out: what governs them in this manifest is not valid.`
      this.say('error', 'effect_ungoverned', pointer, message)
      return []
    }
    const route = findRoute(this.#manifest, capability, this.#handlers)
    if ('fault' in route) {
      this.say('error', 'route_missing', pointer, route.fault)
      return []
    }
    const declaration = toCapability(this.#manifest, capability, route.by, this.#options.id)
    const input = await this.#contract(toInputSchema(input_schema), 'input', id, pointer)
    const output = await this.#contract(toOutputSchema(output_schema), 'output', id, pointer)
    if (!input || !output) return []
    const invoke = this.#toInvoke(route, {
      id,
      isWrapped: 'type' in input_schema && input_schema.type !== 'object',
      writes: declaration.effects.writes,
      repeatable: declaration.effects.repeatable,
      retries: this.#manifest.runtime.max_retries,
    })
    return [Object.freeze({ ...declaration, input, output, invoke })]
  }

  #toInvoke(
    route: CapabilityRoute,
    options: Parameters<typeof toUpstreamInvoke>[1],
  ): Capability['invoke'] {
    return route.kind === 'handler'
      ? toHandlerInvoke(route.run, options)
      : toUpstreamInvoke(() => this.#upstreams.open(route.by, this.#manifest), options)
  }

  async #contract(schema: JsonObject, direction: 'input' | 'output', id: string, base: string) {
    const pointer = `${base}/${direction}_schema`
    try {
      const whole = await bundleSchema(schema, this.#options.loadReference)
      if (findSecrets(whole).length > 0) throw new Error('what it refers to holds a secret')
      const reading = readContract(whole, direction)
      if (!('fault' in reading)) return reading.contract
      this.say('error', 'schema_unusable', pointer, `${id} is left out: ${reading.fault}.`)
    } catch (error) {
      const message = `${id} is left out: ${(error as Error).message}.`
      this.say('error', 'reference_unresolved', pointer, message)
    }
    return undefined
  }
}

const toStep = (step: string): string | number => (/^\d+$/.test(step) ? Number(step) : step)

/** One connection for each interface, opened when it is first needed and shared by all calls. */
class Upstreams {
  readonly #options: ManifestOptions
  readonly #open = new Map<string, Upstream>()

  constructor(options: ManifestOptions) {
    this.#options = options
  }

  open(by: ManifestInterface, { requirements }: ValidManifest): Upstream {
    const { protocol, endpoint = '', name, auth } = by
    const key = `${protocol} ${endpoint}`
    let upstream = this.#open.get(key)
    if (!upstream) {
      const secrets = requirements?.secrets ?? []
      // A manifest does not say which secret opens which door: by name, or there is only one.
      const secret =
        secrets.find(({ id }) => id === name) ?? (secrets.length === 1 ? secrets[0] : undefined)
      upstream = this.#options.protocols[protocol as 'MCP' | 'HTTP']({
        endpoint,
        ...(auth !== 'none' && {
          credential: () => this.#credential(name, auth, secret?.secret_ref),
        }),
      })
      this.#open.set(key, upstream)
    }
    return upstream
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((upstream) => upstream.close()))
    this.#open.clear()
  }

  async #credential(
    name: string,
    auth: ManifestInterface['auth'],
    reference: string | undefined,
  ): Promise<Credential> {
    const value = reference === undefined ? undefined : await this.#options.resolveSecret(reference)
    if (value === undefined)
      throw new Error(
        reference === undefined
          ? `no secret of the manifest is for the interface ${name}`
          : `${reference} has no value`,
      )
    return auth === 'api_key'
      ? { header: 'x-api-key', value }
      : { header: 'authorization', value: `Bearer ${value}` }
  }
}
