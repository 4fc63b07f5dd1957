import { existsSync } from 'node:fs'
import { type Found, findConfig, toStore } from './config/find-config.ts'
import { Drawbridge, type DrawbridgeOptions } from './drawbridge.ts'
import { type Library, ModuleLoader } from './load-modules.ts'
import { openSources, type PlacedSource } from './open-sources.ts'
import { refuseOwner } from './records/open-records.ts'

export interface OpenOptions extends Pick<DrawbridgeOptions, 'onFault' | 'onError' | 'onTrouble'> {
  readonly library: Library
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether anything is to be remembered; looking at a configuration leaves no file behind. */
  readonly remembers: boolean | 'if there is a store'
  /** Whether modules will be read again when they change. */
  readonly fresh?: boolean
  /** In place of the configured one. */
  readonly host?: string
}

export interface OpenedDrawbridge {
  readonly bridge: Drawbridge
  readonly found: Found & Pick<Read, 'files' | 'since'>
}

/** From what a user points at to a running Drawbridge. */
export async function openDrawbridge(
  what: string,
  options: OpenOptions,
): Promise<OpenedDrawbridge> {
  const { library, environment, remembers, fresh, host, ...hooks } = options
  const { found, placed, files, since } = await readAll(what, options)
  const { config, secrets } = found
  const keeps = remembers === true || (remembers !== false && existsSync(toStore(found)))
  const bridge = new Drawbridge({
    ...hooks,
    ...(config.name !== undefined && { name: config.name }),
    ...(config.version !== undefined && { version: config.version }),
    ...(config.description !== undefined && { description: config.description }),
    ...(config.instructions !== undefined && { instructions: config.instructions }),
    sources: placed,
    mounts: config.mounts,
    policy: config.policy,
    ...(keeps && { store: toStore(found) }),
    http: { ...config.http, ...(host !== undefined && { host }) },
    secrets: [...secrets, ...config.sources.flatMap(tokensOf), ...secretsIn(environment)],
    ...(environment.DRAWBRIDGE_TOKEN !== undefined && { token: environment.DRAWBRIDGE_TOKEN }),
  })
  await bridge.ready
  return { bridge, found: { ...found, files, since } }
}

/** Also where it is written down in full. */
const tokensOf = (source: Found['config']['sources'][number]): string[] =>
  'records' in source && typeof source.records === 'object' ? [source.records.token] : []

/** Reads everything anew; nothing is changed yet. */
export async function readAll(
  what: string,
  { library, environment, fresh = false }: Pick<OpenOptions, 'library' | 'environment' | 'fresh'>,
): Promise<Read> {
  const since = Date.now()
  const found = await findConfig(what, environment)
  const loader = new ModuleLoader({ folder: found.folder, library, fresh })
  const placed = await openSources(found.config.sources, {
    loader,
    folder: found.folder,
    environment,
  })
  for (const { door, standsAlone } of placed)
    if (standsAlone) refuseOwner(door, environment, found.config)
  return { found, placed, since, files: async () => [found.file, ...(await loader.files())] }
}

export interface Read {
  readonly found: Found
  readonly placed: PlacedSource[]
  /** When reading began, in milliseconds since the epoch. */
  readonly since: number
  /** What it depends on; complete once the sources have been read. */
  files(): Promise<readonly string[]>
}

/** What the environment keeps under a name that says so must not come out of a tool. */
function secretsIn(environment: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && /(token|secret|passw(or)?d|credential|(^|_)key$|apikey)/i.test(name)
      ? [value]
      : [],
  )
}
