import path from 'node:path'
import { checkOptionNames } from '../capability/check-option-names.ts'
import type { Source } from '../capability/source.ts'
import { diffSchemas } from '../catalog/diff/diff-schemas.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { McpUpstream } from '../mcp/upstream/mcp-upstream.ts'
import type { SecretBinding } from '../sources/manifest/invoke/bind-secret.ts'
import { httpUpstream } from '../sources/manifest/invoke/http-upstream.ts'
import type {
  HandlerContext,
  ManifestHandler,
  UpstreamProtocols,
} from '../sources/manifest/invoke/routes.ts'
import { type Handlers, toHandlers } from '../sources/manifest/invoke/to-handlers.ts'
import { manifestSourceFrom as toSource } from '../sources/manifest/manifest-source.ts'
import type { CompareSchemas } from '../sources/manifest/probe-interfaces.ts'
import { createLoadReference } from '../sources/manifest/schemas/load-reference.ts'
import type { SourceConfig } from './config/config-shape.ts'
import { findExport } from './modules/find-export.ts'
import type { SourceContext } from './open-sources.ts'
import { type OnFile, readConfinedOpenApiFile } from './read-openapi-text.ts'
import { readTextFile } from './read-text-file.ts'

export type { HandlerContext, ManifestHandler, SecretBinding }

/** Options of `manifestSource`. */
export interface ManifestSourceOptions {
  /** Id of the source in diagnostics and origins. Default: the name of the file. */
  readonly id?: string
  /** Functions that implement capabilities, by id; others are called over their interface. Default: none. */
  readonly handlers?: Readonly<Record<string, ManifestHandler>>
  /** Namespaces of extension fields to project, such as `x-acme`. Default: none. */
  readonly extensions?: readonly string[]
  /** Treats unknown fields as errors; otherwise they are left out with a warning. Default: `true`. */
  readonly strict?: boolean
  /** Also serves capabilities that are not offered over MCP. Default: `false`. */
  readonly all?: boolean
  /** Serves the composition as one more tool, named after the agent. Default: `false`. */
  readonly compose?: boolean
  /** Schema URLs that may be fetched, each with the expected hash (`sha256:…`). Default: none. */
  readonly schemas?: Readonly<Record<string, string>>
  /** Resolves secret references such as `vault://…` and `kms://…`. Default: `env://` from the environment. */
  readonly resolveSecret?: (reference: string) => Promise<string | undefined>
  /**
   * Binds secrets to interfaces, by the interface's name: the id of an entry of `requirements.secrets`, and
   * the host that may get it. Default: an entry whose id is the interface's name.
   */
  readonly secrets?: Readonly<Record<string, SecretBinding>>
  /**
   * What `probeUpstreams` reads at HTTP interfaces, by the interface's name: a path at the host of its endpoint
   * that has no effect, such as `/health`. Default: OPTIONS for each capability.
   */
  readonly probes?: Readonly<Record<string, string>>
}

/**
 * A source that serves the capabilities of an agent manifest (`agent.yaml`).
 *
 * @example
 * ```ts
 * import { createDrawbridge, manifestSource } from 'drawbridge-mcp'
 *
 * const orders = manifestSource('./agent.yaml', {
 *   handlers: { 'refund-order': async (input) => ({ refunded: input }) },
 * })
 * const bridge = createDrawbridge({ sources: [orders] })
 * ```
 */
export function manifestSource(file: string, options: ManifestSourceOptions = {}): Source {
  checkOptionNames(options, optionNames)
  return toSource({
    id: options.id ?? path.basename(file),
    file,
    text: () => readTextFile(file),
    handlers: async () => toHandlers(options.handlers ?? {}),
    extensions: options.extensions ?? [],
    strict: options.strict ?? true,
    all: options.all ?? false,
    compose: options.compose ?? false,
    loadReference: (fetch) =>
      createLoadReference({ folder: path.dirname(file), pinned: options.schemas ?? {}, fetch }),
    protocols,
    ...(options.resolveSecret
      ? { resolveSecret: options.resolveSecret, isUnset: () => false }
      : toEnvironmentSecrets(process.env)),
    secrets: options.secrets ?? {},
    probes: options.probes ?? {},
    compareSchemas,
    readDocument: toDocumentReader(file, () => {}),
    steadyNow,
  })
}

const optionNames = {
  id: true,
  handlers: true,
  extensions: true,
  strict: true,
  all: true,
  compose: true,
  schemas: true,
  resolveSecret: true,
  secrets: true,
  probes: true,
} satisfies Record<keyof ManifestSourceOptions, true>

const steadyNow = () => performance.now()

/** Documents below the folder of the manifest. */
const toDocumentReader = (manifest: string, onFile: OnFile) => (reference: string) =>
  readConfinedOpenApiFile(reference, path.dirname(manifest), onFile)

const protocols: UpstreamProtocols = {
  MCP: (options) => new McpUpstream(options),
  HTTP: httpUpstream,
}

/** Undeclared properties are not a conflict: servers close their schemas by default, and few clients send any. */
const compareSchemas: CompareSchemas = (direction, declared, actual) =>
  diffSchemas(direction, declared, actual)
    .filter(({ breaking, kind }) => breaking && kind !== 'properties_closed')
    .map(({ pointer, message, effect, kind }) => ({
      message: `${pointer} ${message}`,
      isCertain: effect !== 'neutral' || kind === 'type_changed',
    }))

type ManifestConfig = Extract<SourceConfig, { manifest: string }>

export function openManifest(
  config: ManifestConfig,
  { loader, folder, environment, unset }: SourceContext,
): Source {
  const file = path.resolve(folder, config.manifest)
  loader.watchFile(file)
  return toSource({
    id: config.manifest,
    file,
    text: () => readTextFile(file),
    handlers: () => openHandlers(config.handlers, { loader, folder }),
    extensions: config.extensions,
    strict: config.strict,
    all: config.all,
    compose: config.compose,
    loadReference: (fetch) =>
      createLoadReference({ folder: path.dirname(file), pinned: config.schemas, fetch }),
    protocols,
    ...toEnvironmentSecrets(
      environment,
      unset && ((name) => unset.add(name, { source: config.manifest, pointer: '', at: file })),
    ),
    secrets: config.secrets,
    probes: config.probes,
    compareSchemas,
    readDocument: toDocumentReader(file, (one) => loader.watchFile(one)),
    steadyNow,
  })
}

async function openHandlers(
  handlers: string | undefined,
  { loader, folder }: Pick<SourceContext, 'loader' | 'folder'>,
): Promise<Handlers> {
  if (handlers === undefined) return toHandlers({})
  const file = path.resolve(folder, handlers)
  const { exports, code, error: fault, at = `${file}:1:1` } = await loader.tryLoad(handlers, folder)
  return {
    ...toHandlers(exports, code),
    ...dropUndefined({ fault }),
    positionOf: async (name) => (name === undefined ? at : findExport(file, name)),
  }
}

/**
 * Resolves `env://` references; others have no value without `resolveSecret`. With `onUnset`, variables need not
 * be set: it is called instead of a warning.
 */
function toEnvironmentSecrets(
  environment: SourceContext['environment'],
  onUnset?: (name: string) => void,
) {
  const toName = (reference: string) =>
    reference.startsWith('env://') ? reference.slice('env://'.length) : undefined
  const find = (reference: string) => {
    const name = toName(reference)
    return name === undefined ? undefined : environment[name]
  }
  return {
    resolveSecret: async (reference: string) => find(reference),
    isUnset: (reference: string) => {
      const name = toName(reference)
      if (find(reference) !== undefined) return false
      if (name === undefined || !onUnset) return true
      onUnset(name)
      return false
    },
  }
}
