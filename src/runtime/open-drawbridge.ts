import { existsSync } from 'node:fs'
import { findSecrets } from '../governance/find-secrets.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { Egress } from '../upstream/egress/egress.ts'
import type { HttpOptions, PolicyOptions } from './config/config-options.ts'
import { type Configuration, findConfig, toStore } from './config/find-config.ts'
import { toAuditOptions } from './config/to-settings.ts'
import type { UnsetVariables } from './config/unset-variables.ts'
import { Drawbridge } from './drawbridge.ts'
import type { DrawbridgeOptions } from './drawbridge-options.ts'
import { type Library, ModuleLoader } from './modules/load-modules.ts'
import type { StrayErrors } from './modules/stray-errors.ts'
import { openSources } from './open-sources.ts'
import type { OpenedSource } from './placed-source.ts'
import { refuseOwnerCredentials } from './records/local-credentials.ts'

export interface OpenOptions
  extends Pick<DrawbridgeOptions, 'onOperatorFailure' | 'onError' | 'onOperationalError'> {
  readonly library: () => Promise<Library>
  readonly environment: Readonly<Record<string, string | undefined>>
  /** `existing`: opens the store only if its file exists, because verbs that inspect must not create one. */
  readonly store: 'create' | 'existing' | 'none'
  /** Reloads modules when they change. */
  readonly fresh?: boolean
  /** Overrides `http.host`. */
  readonly host?: string
  /** Catches errors that modules leave behind when they are loaded. */
  readonly strayErrors?: StrayErrors
  /** Environment variables need not be set: those that are not are collected here. */
  readonly unset?: UnsetVariables
}

export interface OpenedDrawbridge {
  readonly bridge: Drawbridge
  readonly configuration: Configuration & Pick<LoadedConfig, 'files' | 'since'>
}

/** Opens a configuration, its folder, a manifest or a module. */
export async function openDrawbridge(
  what: string,
  options: OpenOptions,
): Promise<OpenedDrawbridge> {
  const { library, environment, store, fresh, host, strayErrors, unset, ...listeners } = options
  const { configuration, sources, files, since } = await loadConfig(what, options)
  const { config, secrets } = configuration
  const storeFile = toStore(configuration)
  const hasStore = store === 'create' || (store === 'existing' && existsSync(storeFile))
  const bridge = new Drawbridge({
    ...listeners,
    ...dropUndefined({
      name: config.name,
      version: config.version,
      description: config.description,
      instructions: config.instructions,
      store: hasStore ? storeFile : undefined,
      token: environment.DRAWBRIDGE_TOKEN,
    }),
    sources,
    mounts: config.mounts,
    policy: config.policy as PolicyOptions,
    // Nothing may be sent to a placeholder.
    audit: unset?.areIn(config.audit) ? {} : toAuditOptions(configuration),
    http: { ...config.http, ...dropUndefined({ host }) } as HttpOptions,
    secrets: [...secrets, ...config.sources.flatMap(literalTokens), ...findSecrets(environment)],
  })
  await bridge.ready
  return { bridge, configuration: { ...configuration, files, since } }
}

/** Tokens that are written in the configuration itself instead of in the environment. */
const literalTokens = (source: Configuration['config']['sources'][number]): string[] =>
  'records' in source && typeof source.records === 'object' ? [source.records.token] : []

/** Reads the configuration and opens its sources, without changing a running Drawbridge. */
export async function loadConfig(
  what: string,
  { library, environment, fresh = false, strayErrors, unset }: LoadOptions,
): Promise<LoadedConfig> {
  const since = Date.now()
  const configuration = await findConfig(what, environment, unset)
  const { config, folder, file } = configuration
  const loader = new ModuleLoader({ folder, library, fresh, strayErrors })
  const sources = await openSources(config.sources, {
    loader,
    folder,
    environment,
    egress: new Egress(config.policy.egress),
    ...dropUndefined({ unset }),
  })
  for (const { gate, isExclusive } of sources)
    if (isExclusive) refuseOwnerCredentials(gate, environment, config)
  return { configuration, sources, since, files: async () => [file, ...(await loader.files())] }
}

type LoadOptions = Pick<OpenOptions, 'library' | 'environment' | 'fresh' | 'strayErrors' | 'unset'>

export interface LoadedConfig {
  readonly configuration: Configuration
  readonly sources: readonly OpenedSource[]
  /** Start of reading, in epoch milliseconds. */
  readonly since: number
  /** The files it depends on; complete once the sources are read. */
  files(): Promise<readonly string[]>
}
