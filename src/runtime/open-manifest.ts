import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Source } from '../capability/source.ts'
import { McpUpstream } from '../mcp/upstream/mcp-upstream.ts'
import type { SecretBinding } from '../sources/manifest/invoke/bind-secret.ts'
import { httpUpstream } from '../sources/manifest/invoke/http-upstream.ts'
import type {
  HandlerContext,
  ManifestHandler,
  UpstreamProtocols,
} from '../sources/manifest/invoke/routes.ts'
import { toHandlers } from '../sources/manifest/invoke/to-handlers.ts'
import { manifestSourceFrom as toSource } from '../sources/manifest/manifest-source.ts'
import { createLoadReference } from '../sources/manifest/schemas/load-reference.ts'
import type { SourceConfig } from './config/config-shape.ts'
import type { SourceContext } from './open-sources.ts'

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
export const manifestSource = (file: string, options: ManifestSourceOptions = {}): Source =>
  toSource({
    id: options.id ?? path.basename(file),
    file,
    text: () => readFile(file, 'utf8'),
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
  })

const protocols: UpstreamProtocols = {
  MCP: (options) => new McpUpstream(options),
  HTTP: httpUpstream,
}

type ManifestConfig = Extract<SourceConfig, { manifest: string }>

export function openManifest(
  config: ManifestConfig,
  { loader, folder, environment }: SourceContext,
): Source {
  const file = path.resolve(folder, config.manifest)
  loader.watchFile(file)
  const { handlers } = config
  return toSource({
    id: config.manifest,
    file,
    text: () => readFile(file, 'utf8'),
    handlers: async () => {
      if (handlers === undefined) return toHandlers({})
      const { exports, code } = await loader.load(path.resolve(folder, handlers))
      return toHandlers(exports, code)
    },
    extensions: config.extensions,
    strict: config.strict,
    all: config.all,
    compose: config.compose,
    loadReference: (fetch) =>
      createLoadReference({ folder: path.dirname(file), pinned: config.schemas, fetch }),
    protocols,
    ...toEnvironmentSecrets(environment),
    secrets: config.secrets,
  })
}

/** Resolves `env://` references; others have no value without `resolveSecret`. */
function toEnvironmentSecrets(environment: SourceContext['environment']) {
  const find = (reference: string) =>
    reference.startsWith('env://') ? environment[reference.slice('env://'.length)] : undefined
  return {
    resolveSecret: async (reference: string) => find(reference),
    isUnset: (reference: string) => find(reference) === undefined,
  }
}
