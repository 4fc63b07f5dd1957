import path from 'node:path'
import { SetupError } from '../capability/setup-error.ts'
import type { Source } from '../capability/source.ts'
import type { Placement } from '../catalog/catalog.ts'
import { definitionSource } from '../sources/definitions/definition-source.ts'
import type { SourceConfig } from './config.ts'
import type { ModuleLoader } from './load-modules.ts'
import { openManifest } from './open-manifest.ts'

export interface PlacedSource extends Placement {
  readonly mount: string
}

/** The one place that knows which kinds of source there are. */
export async function openSources(
  sources: readonly SourceConfig[],
  surroundings: Surroundings,
): Promise<PlacedSource[]> {
  return Promise.all(
    sources.map(async (config) => {
      const { prefix, mount } = config
      const source = await openSource(config, surroundings)
      return { source, mount, ...(prefix !== undefined && { prefix }) }
    }),
  )
}

/** What sources are opened with. */
export interface Surroundings {
  readonly loader: ModuleLoader
  /** What paths are relative to. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

async function openSource(config: SourceConfig, surroundings: Surroundings): Promise<Source> {
  const { loader, folder } = surroundings
  if ('manifest' in config) return openManifest(config, surroundings)
  if ('definitions' in config) {
    const patterns = [config.definitions].flat()
    return definitionSource(() => loader.loadAll(patterns, folder), patterns.join(', '))
  }
  try {
    const { default: source } = await loader.load(path.resolve(folder, config.source))
    if (isSource(source)) return source
    throw new SetupError('it must export a source as default: { id, read() }')
  } catch (error) {
    // Told like any source that cannot be read: its neighbours are served.
    const read = () => Promise.reject(error)
    return { id: config.source, read }
  }
}

const isSource = (value: unknown): value is Source =>
  typeof value === 'object' &&
  value !== null &&
  'read' in value &&
  typeof value.read === 'function' &&
  'id' in value &&
  typeof value.id === 'string'
