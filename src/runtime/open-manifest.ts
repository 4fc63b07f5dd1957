import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Source } from '../capability/source.ts'
import { McpUpstream } from '../mcp/upstream/mcp-upstream.ts'
import { httpUpstream } from '../sources/manifest/invoke/http-upstream.ts'
import type { ManifestHandler, Protocols } from '../sources/manifest/invoke/routes.ts'
import { manifestSource as toSource } from '../sources/manifest/manifest-source.ts'
import { createLoadReference } from '../sources/manifest/schemas/load-reference.ts'
import type { SourceConfig } from './config/config-shape.ts'
import type { SourceContext } from './open-sources.ts'

export interface ManifestSourceOptions {
  readonly id?: string
  /** By the id of the capability they do the work of. */
  readonly handlers?: Readonly<Record<string, ManifestHandler>>
  readonly extensions?: readonly string[]
  readonly strict?: boolean
  readonly all?: boolean
  readonly compose?: boolean
  /** Addresses of schemas that may be fetched, each with its hash. */
  readonly schemas?: Readonly<Record<string, string>>
  /** What `vault://` and `kms://` stand for; `env://` is read from the environment. */
  readonly resolveSecret?: (reference: string) => Promise<string | undefined>
}

/** The manifest in a file, for those who put a server together in code. */
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
    loadReference: createLoadReference({
      folder: path.dirname(file),
      pinned: options.schemas ?? {},
    }),
    protocols,
    resolveSecret:
      options.resolveSecret ?? ((reference) => fromEnvironment(reference, process.env)),
  })

const protocols: Protocols = { MCP: (options) => new McpUpstream(options), HTTP: httpUpstream }

type ManifestConfig = Extract<SourceConfig, { manifest: string }>

export function openManifest(
  config: ManifestConfig,
  { loader, folder, environment }: SourceContext,
): Source {
  const file = path.resolve(folder, config.manifest)
  loader.note(file)
  const { handlers } = config
  return toSource({
    id: config.manifest,
    file,
    text: () => readFile(file, 'utf8'),
    handlers: async () =>
      toHandlers(handlers === undefined ? {} : await loader.load(path.resolve(folder, handlers))),
    extensions: config.extensions,
    strict: config.strict,
    all: config.all,
    compose: config.compose,
    loadReference: createLoadReference({ folder: path.dirname(file), pinned: config.schemas }),
    protocols,
    resolveSecret: (reference) => fromEnvironment(reference, environment),
  })
}

/** A module exports them by id, one by one or together; `refundOrder` stands for `refund-order`. */
function toHandlers(
  exported: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, ManifestHandler> {
  const { default: together, ...single } = exported
  const all = { ...single, ...(typeof together === 'object' ? together : {}) }
  return new Map(
    Object.entries(all).flatMap(([name, value]): [string, ManifestHandler][] =>
      typeof value === 'function'
        ? [
            [name, value as ManifestHandler],
            [toSlug(name), value as ManifestHandler],
          ]
        : [],
    ),
  )
}

const toSlug = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

async function fromEnvironment(
  reference: string,
  environment: SourceContext['environment'],
): Promise<string | undefined> {
  return reference.startsWith('env://') ? environment[reference.slice('env://'.length)] : undefined
}
