import { existsSync } from 'node:fs'
import { dropUndefined } from '../capability/json.ts'
import { refuseOwnerCredentials } from '../sources/records/grants/refuse-owner-credentials.ts'
import { type FoundConfig, findConfig, toStore } from './config/find-config.ts'
import { Drawbridge } from './drawbridge.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'
import { type Library, ModuleLoader } from './load-modules.ts'
import { openSources, type PlacedSource } from './open-sources.ts'

export interface OpenOptions extends Pick<DrawbridgeOptions, 'onFault' | 'onError' | 'onTrouble'> {
  readonly library: Library
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Opens the store, or creates it. Verbs that only inspect must not create one. */
  readonly usesStore: boolean | 'if it exists'
  /** Reloads modules when they change. */
  readonly fresh?: boolean
  /** Overrides `http.host`. */
  readonly host?: string
}

export interface OpenedDrawbridge {
  readonly bridge: Drawbridge
  readonly found: FoundConfig & Pick<LoadedConfig, 'files' | 'since'>
}

/** Opens a configuration, its folder, a manifest or a module. */
export async function openDrawbridge(
  what: string,
  options: OpenOptions,
): Promise<OpenedDrawbridge> {
  const { library, environment, usesStore, fresh, host, ...hooks } = options
  const { found, placed, files, since } = await loadConfig(what, options)
  const { config, secrets } = found
  const hasStore = usesStore === true || (usesStore !== false && existsSync(toStore(found)))
  const bridge = new Drawbridge({
    ...hooks,
    ...dropUndefined({
      name: config.name,
      version: config.version,
      description: config.description,
      instructions: config.instructions,
      store: hasStore ? toStore(found) : undefined,
      token: environment.DRAWBRIDGE_TOKEN,
    }),
    sources: placed,
    mounts: config.mounts,
    policy: config.policy,
    http: { ...config.http, ...dropUndefined({ host }) },
    secrets: [...secrets, ...config.sources.flatMap(literalTokens), ...findSecrets(environment)],
  })
  await bridge.ready
  return { bridge, found: { ...found, files, since } }
}

/** Tokens that are written in the configuration itself instead of in the environment. */
const literalTokens = (source: FoundConfig['config']['sources'][number]): string[] =>
  'records' in source && typeof source.records === 'object' ? [source.records.token] : []

/** Reads the configuration and opens its sources, without changing a running Drawbridge. */
export async function loadConfig(
  what: string,
  { library, environment, fresh = false }: Pick<OpenOptions, 'library' | 'environment' | 'fresh'>,
): Promise<LoadedConfig> {
  const since = Date.now()
  const found = await findConfig(what, environment)
  const loader = new ModuleLoader({ folder: found.folder, library, fresh })
  const placed = await openSources(found.config.sources, {
    loader,
    folder: found.folder,
    environment,
  })
  for (const { gate, isExclusive } of placed)
    if (isExclusive) refuseOwnerCredentials(gate, environment, found.config)
  return { found, placed, since, files: async () => [found.file, ...(await loader.files())] }
}

export interface LoadedConfig {
  readonly found: FoundConfig
  readonly placed: PlacedSource[]
  /** Start of reading, in epoch milliseconds. */
  readonly since: number
  /** The files it depends on; complete once the sources are read. */
  files(): Promise<readonly string[]>
}

/** Environment variables whose names suggest a secret; their values must not appear in results. */
function findSecrets(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && /(token|secret|passw(or)?d|credential|(^|_)key$|apikey)/i.test(name)
      ? [value]
      : [],
  )
}
