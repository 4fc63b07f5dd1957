import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import type { Placement } from '../catalog/catalog.ts'
import { definitionSource } from '../sources/definitions/definition-source.ts'
import type { LoadedModule } from '../sources/loaded-module.ts'
import type { TokenGate } from '../sources/records/grants/token-gate.ts'
import type { ServiceOptions } from '../sources/services/options.ts'
import { isServiceModule, toServiceSource } from '../sources/services/service-module.ts'
import type { SourceConfig } from './config/config-shape.ts'
import type { ModuleLoader } from './load-modules.ts'
import { openIntents } from './open-intents.ts'
import { openManifest } from './open-manifest.ts'
import { openRecords } from './records/open-records.ts'
import { openRemoteRecords } from './records/open-remote-records.ts'

export interface PlacedSource extends Placement {
  readonly mount: string
  /** Where it looks at tokens itself, callers of its mount come in by it alone. */
  readonly door?: TokenGate
  readonly instructions?: string
  /** Shares its mount with nobody. */
  readonly standsAlone?: true
  /** Whom to tell of what goes wrong while it runs; it may be opened before anybody is there. */
  readonly tellTo?: (onTrouble: (error: unknown) => void) => void
}

/** The one place that knows which kinds of source there are. */
export async function openSources(
  sources: readonly SourceConfig[],
  surroundings: SourceContext,
): Promise<PlacedSource[]> {
  return Promise.all(
    sources.map(async (config) => {
      const { prefix, mount } = config
      const named = { mount, ...(prefix !== undefined && { prefix }) }
      if ('records' in config)
        return { ...(await openStore(config.records, surroundings)), ...named }
      return { source: await openSource(config, surroundings), ...named }
    }),
  )
}

/** What sources are opened with. */
export interface SourceContext {
  readonly loader: ModuleLoader
  /** What paths are relative to. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

type RecordsConfig = Extract<SourceConfig, { records: unknown }>
type OtherSource = Exclude<SourceConfig, RecordsConfig>

/** Here, or at another server. */
async function openStore(where: RecordsConfig['records'], surroundings: SourceContext) {
  if (typeof where === 'string') return openRecords(where, surroundings.folder)
  const isLiteral = !Object.values(surroundings.environment).includes(where.token)
  return openRemoteRecords(where, isLiteral)
}

async function openSource(config: OtherSource, surroundings: SourceContext): Promise<Source> {
  const { loader, folder } = surroundings
  if ('manifest' in config) return openManifest(config, surroundings)
  if ('definitions' in config) return openDefinitions(config.definitions, loader, folder)
  if ('module' in config) {
    const modules = await loader.loadAll([config.module], folder)
    if (!modules.some(({ exports }) => isServiceModule(exports)))
      return definitionSource(async () => modules, config.module)
    return openService({ ...config, service: config.module }, modules)
  }
  if ('intents' in config) return openIntents(config.intents, loader, folder)
  if ('service' in config)
    return openService(config, await loader.loadAll([config.service], folder))
  return orUnreadable(config.source, async () => {
    const { default: source } = await loader.load(path.resolve(folder, config.source))
    if (isSource(source)) return source
    throw new SetupError('it must export a source as default: { id, read() }')
  })
}

function openDefinitions(where: string | string[], loader: ModuleLoader, folder: string): Source {
  const patterns = [where].flat()
  return definitionSource(() => loader.loadAll(patterns, folder), patterns.join(', '))
}

const openService = (
  { service: file, mount, prefix, ...said }: ServiceConfig,
  modules: readonly LoadedModule[],
): Promise<Source> =>
  orUnreadable(file, async () => {
    const [{ exports = {}, error } = {}] = modules
    if (error !== undefined) throw new SetupError(`${file} does not load: ${error}`)
    return toServiceSource(exports, { id: file, ...said } as ServiceOptions)
  })

type ServiceConfig = Extract<SourceConfig, { service: string }>

/** Told like any source that cannot be read: its neighbours are served. */
const orUnreadable = (id: string, open: () => Promise<Source>): Promise<Source> =>
  open().catch((error) => ({ id, read: () => Promise.reject(error) }))

const isSource = (value: unknown): value is Source =>
  typeof value === 'object' &&
  value !== null &&
  'read' in value &&
  typeof value.read === 'function' &&
  'id' in value &&
  typeof value.id === 'string'
