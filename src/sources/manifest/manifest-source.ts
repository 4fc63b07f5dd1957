import type { Capability } from '../../capability/capability.ts'
import type { Diagnostic } from '../../capability/diagnostic.ts'
import { isFault } from '../../capability/fault.ts'
import type { About, Reading } from '../../capability/source.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { fromPointer } from '../../json/from-pointer.ts'
import type { DocumentText } from '../../openapi/read-document.ts'
import type { GuardedFetch } from '../../upstream/egress/guarded-fetch.ts'
import type { UpstreamSource } from '../../upstream/egress/upstream-source.ts'
import { CapabilityLoader, type ReportFinding } from './capability-loader.ts'
import { composePipeline } from './compose-pipeline.ts'
import { toCounted } from './diagnostic-codes.ts'
import { findDroppedFields } from './dropped-fields.ts'
import type { SecretBindings } from './invoke/bind-secret.ts'
import { checkHandlers } from './invoke/check-handlers.ts'
import { openInterfaceApis } from './invoke/interface-apis.ts'
import type { UpstreamProtocols } from './invoke/routes.ts'
import type { Handlers } from './invoke/to-handlers.ts'
import { Upstreams } from './invoke/upstreams.ts'
import {
  type CompareSchemas,
  type ProbePaths,
  probeInterfaces,
  reportInvalidProbes,
} from './probe-interfaces.ts'
import type { ManifestCapability } from './reading/manifest-shape.ts'
import { readManifest, type ValidManifest } from './reading/read-manifest.ts'
import { toUnreadable } from './reading/to-unreadable.ts'
import type { LoadReference } from './schemas/load-reference.ts'
import { toServable } from './servable.ts'
import { toExtension, toNamedExtensions } from './to-extension.ts'
import { toSurface } from './to-surface.ts'

export interface ManifestOptions {
  /** Names the source in diagnostics, audit and `_meta`. */
  readonly id: string
  /** The file name printed before line and column. */
  readonly file: string
  readonly text: () => Promise<string>
  readonly handlers: () => Promise<Handlers>
  readonly extensions: readonly string[]
  readonly strict: boolean
  /** Serve capabilities whose `protocols` do not include MCP too. */
  readonly all: boolean
  /** Serve a composition of type pipeline as one capability. */
  readonly compose: boolean
  readonly loadReference: (fetch: GuardedFetch) => LoadReference
  /** Reads the OpenAPI document of an HTTP interface, by its `schema_ref`. */
  readonly readDocument: (reference: string) => Promise<DocumentText>
  /** Milliseconds on a clock that never jumps. */
  readonly steadyNow: () => number
  readonly protocols: UpstreamProtocols
  /** Resolves `env://`, `vault://` and `kms://` references; called lazily, when an agent is called. */
  readonly resolveSecret: (reference: string) => Promise<string | undefined>
  /** True for a reference that certainly has no value; asked when the manifest is read. */
  readonly isUnset: (reference: string) => boolean
  /** The operator's bindings of secrets to interfaces and hosts. */
  readonly secrets: SecretBindings
  /** What `check --live` reads at HTTP interfaces. */
  readonly probes: ProbePaths
  readonly compareSchemas: CompareSchemas
}

/** A source of the capabilities of an AgentHub manifest, with its declared rules enforced. */
export function manifestSourceFrom(options: ManifestOptions): UpstreamSource {
  const upstreams = new Upstreams(options)
  let reading: Reading = { capabilities: [] }
  return {
    id: options.id,
    async read() {
      reading = await toReading(options, upstreams)
      return reading
    },
    async probe(schedule) {
      const diagnostics: Diagnostic[] = []
      const { positionOf } = reading
      await probeInterfaces({
        targets: upstreams.targets,
        open: (route) => upstreams.open(route),
        isUnset: options.isUnset,
        probes: options.probes,
        compare: options.compareSchemas,
        report: (severity, code, pointer, message) =>
          diagnostics.push(
            dropUndefined({
              code,
              severity,
              message,
              source: options.id,
              pointer,
              at: positionOf?.(pointer),
            }),
          ),
        schedule,
      })
      return diagnostics
    },
    connectUpstreams: (host) => upstreams.connect(host),
    destinations: ({ origin }) => upstreams.destinations(origin.pointer),
    close: () => upstreams.close(),
  }
}

async function toReading(options: ManifestOptions, upstreams: Upstreams): Promise<Reading> {
  const { id: source, file, extensions, strict } = options
  const text = await options.text().catch((error: Error) => error)
  if (text instanceof Error)
    return { capabilities: [], diagnostics: [toUnreadable(text, { source, file })] }
  const reading = readManifest(text, { source, file, extensions, strict })
  const { manifest, positionOf } = reading
  const diagnostics: Diagnostic[] = [...reading.diagnostics]
  const locate = (pointer: string) => positionOf(fromPointer(pointer))
  if (!manifest) return { capabilities: [], diagnostics, positionOf: locate }
  const report: ReportFinding = (severity, code, pointer, message) =>
    diagnostics.push({ code, severity, message, source, pointer, at: locate(pointer) })
  const handlers = await options.handlers()
  for (const { name, ...finding } of checkHandlers(handlers, manifest)) {
    const at = (await handlers.positionOf?.(name)) ?? locate('/capabilities')
    diagnostics.push({ ...finding, source, pointer: '/capabilities', at })
  }
  const about = toAbout(manifest)
  if (handlers.fault !== undefined)
    return {
      capabilities: [],
      diagnostics,
      about,
      surface: toSurface(manifest, new Map()),
      positionOf: locate,
    }

  const isOffered = ({ protocols }: ManifestCapability) => options.all || protocols.includes('MCP')
  const offered = new Set(manifest.capabilities.filter(isOffered).map(({ index }) => index))
  for (const { pointer, message } of findDroppedFields(manifest, offered))
    report('warning', 'field_dropped', pointer, message)
  const apis = await openInterfaceApis(manifest, { ...options, client: upstreams.apiClient })
  const schemes = [...apis.values()].flatMap((api) => (isFault(api) ? [] : [...api.schemes]))
  const boundNames = new Set([...manifest.interfaces.map(({ name }) => name), ...schemes])
  for (const name of Object.keys(options.secrets))
    if (!boundNames.has(name))
      report(
        'error',
        'secret_binding',
        '/interfaces',
        `A secret is bound to the interface ${JSON.stringify(name)}, which the manifest does not have.`,
      )
  const servable = toServable(manifest, reading.diagnostics)
  for (const { id, index } of servable.ungoverned.filter(isOffered))
    report('error', 'effect_ungoverned', `/capabilities/${index}`, toUngovernedMessage(id))
  upstreams.forgetTargets()
  reportInvalidProbes(manifest, options.probes, report)
  const parts = { options, upstreams, manifest, handlers: handlers.byId, apis, report }
  const loader = new CapabilityLoader(parts)
  const capabilities: Capability[] = []
  for (const capability of servable.capabilities.filter(isOffered))
    capabilities.push(...(await loader.load(capability)))
  if (options.compose) capabilities.push(...composePipeline(manifest, capabilities, report, source))
  const documents = new Map(
    [...apis].flatMap(([index, api]) => (isFault(api) ? [] : [[index, api.digest]])),
  )
  const surface = toSurface(manifest, documents)
  return {
    capabilities,
    diagnostics: diagnostics.map(toCounted),
    about,
    surface,
    positionOf: locate,
  }
}

const toUngovernedMessage = (id: string): string =>
  `${id} has side effects and is not served: the sections that govern them (trust, runtime, requirements) are not valid.`

const toAbout = (manifest: ValidManifest): About => ({
  name: manifest.identity.id,
  version: manifest.identity.version,
  title: manifest.identity.name,
  description: manifest.identity.description,
  extension: toExtension(manifest),
  namedExtensions: toNamedExtensions(manifest),
})
