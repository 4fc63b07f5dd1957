import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { definitionSource } from '../sources/definitions/definition-source.ts'
import { hasDefinitions } from '../sources/definitions/find-tools.ts'
import type { LoadedModule } from '../sources/loaded-module.ts'
import { isServiceModule } from '../sources/services/is-service-module.ts'
import type { ServiceOptions } from '../sources/services/options.ts'
import type { Egress } from '../upstream/egress/egress.ts'
import type { SourceConfig } from './config/config-shape.ts'
import type { UnsetVariables } from './config/unset-variables.ts'
import type { ModuleLoader } from './modules/load-modules.ts'
import { withCode } from './modules/with-code.ts'
import type { OpenedSource } from './placed-source.ts'

/**
 * Opens the sources of a configuration. No other place knows all kinds of source. Every kind but definitions
 * is loaded when a configuration has it.
 */
export async function openSources(
  sources: readonly SourceConfig[],
  context: SourceContext,
): Promise<OpenedSource[]> {
  return Promise.all(
    sources.map(async (config) => {
      const { prefix, mount } = config
      const placement = { mount, ...dropUndefined({ prefix }) }
      if ('records' in config)
        return { ...(await openRecordsConfig(config.records, context)), ...placement }
      return { source: await openSource(config, context), ...placement }
    }),
  )
}

export interface SourceContext {
  readonly loader: ModuleLoader
  /** Base of relative paths. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Decides the connections of sources that connect while they are opened. */
  readonly egress: Egress
  /** Collects variables that need not be set. */
  readonly unset?: UnsetVariables
}

type RecordsConfig = Extract<SourceConfig, { records: unknown }>
type OtherSource = Exclude<SourceConfig, RecordsConfig>

/** A local store, or a remote server. */
async function openRecordsConfig(location: RecordsConfig['records'], context: SourceContext) {
  if (typeof location === 'string') {
    const { openRecords } = await import('./records/open-records.ts')
    return openRecords(location, context.folder)
  }
  const isLiteral = !Object.values(context.environment).includes(location.token)
  const { openRemoteRecords } = await import('./records/open-remote-records.ts')
  const isContacted = !context.unset?.areIn(location)
  return openRemoteRecords(location, {
    isLiteral: isLiteral && isContacted,
    isContacted,
    egress: context.egress,
  })
}

async function openSource(config: OtherSource, context: SourceContext): Promise<Source> {
  const { loader, folder, unset } = context
  if ('manifest' in config) {
    const { openManifest } = await import('./open-manifest.ts')
    return openManifest(config, context)
  }
  if ('openapi' in config) {
    const { openOpenApi } = await import('./open-openapi.ts')
    return openOpenApi(config, context)
  }
  if ('definitions' in config) return openDefinitions(config, loader, folder)
  if ('module' in config) {
    const { module: file, ...placement } = config
    const modules = await loader.loadAll([file], folder)
    if (!modules.some(({ exports }) => isService(exports)))
      return definitionSource(async () => modules, file)
    return openService({ ...placement, service: file }, modules)
  }
  if ('intents' in config) {
    const { openIntents } = await import('./intents/open-intents.ts')
    return openIntents(config.intents, { loader, folder, ...dropUndefined({ unset }) })
  }
  if ('service' in config)
    return openService(config, await loader.loadAll([config.service], folder))
  return orUnreadable(config.source, async () => {
    const { exports, code } = await loader.load(path.resolve(folder, config.source))
    if (isSource(exports.default)) return withCode(exports.default, code)
    throw new SetupError('The default export must be a source: { id, read() }.')
  })
}

/** A default function creates a service, unless tools are exported beside it: then it is a helper. */
const isService = (exports: LoadedModule['exports']): boolean =>
  isServiceModule(exports) && (typeof exports.default === 'object' || !hasDefinitions(exports))

function openDefinitions(
  { definitions, categories }: Extract<SourceConfig, { definitions: unknown }>,
  loader: ModuleLoader,
  folder: string,
): Source {
  const patterns = [definitions].flat()
  const id = patterns.join(', ')
  return definitionSource(() => loader.loadAll(patterns, folder), { id, categories })
}

const openService = (
  { service: file, mount, prefix, ...options }: ServiceConfig,
  modules: readonly LoadedModule[],
): Promise<Source> =>
  orUnreadable(file, async () => {
    const [{ exports = {}, error, code = '' } = {}] = modules
    if (error !== undefined) throw new SetupError(`${file} does not load: ${error}`)
    const { toServiceSource } = await import('../sources/services/service-module.ts')
    return withCode(
      await toServiceSource(exports, { id: file, ...options } as ServiceOptions),
      code,
    )
  })

type ServiceConfig = Extract<SourceConfig, { service: string }>

/** A source that fails to open becomes one that fails to read, so that the others are still served. */
const orUnreadable = (id: string, open: () => Promise<Source>): Promise<Source> =>
  open().catch((error) => ({ id, read: () => Promise.reject(error) }))

const isSource = (value: unknown): value is Source =>
  typeof value === 'object' &&
  value !== null &&
  'read' in value &&
  typeof value.read === 'function' &&
  'id' in value &&
  typeof value.id === 'string'
