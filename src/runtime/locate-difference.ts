import { statSync } from 'node:fs'
import path from 'node:path'
import type { Capability } from '../capability/capability.ts'
import type { MountedDifference } from './diff-bridges.ts'
import type { OpenedDrawbridge } from './open-drawbridge.ts'

/** Finds `file:line:column`, or the file alone, of a difference: in the new state, or in the old one for a removal. */
export function createLocator(sides: {
  readonly before: OpenedDrawbridge
  readonly now: OpenedDrawbridge
}): (difference: MountedDifference) => string | undefined {
  const [inOld, inNew] = [toFinder(sides.before), toFinder(sides.now)]
  return (difference) =>
    (isRemovedSetting(difference) ? inOld(difference) : undefined) ??
    inNew(difference) ??
    inOld(difference)
}

/** A capability that was removed is not found in the new state; a setting is, by its parents. */
const isRemovedSetting = ({ noun, kind }: MountedDifference): boolean =>
  kind.endsWith('_removed') && (noun === 'policy' || noun === 'configuration' || noun === 'source')

type Find = (difference: MountedDifference) => string | undefined

function toFinder({ bridge, configuration }: OpenedDrawbridge): Find {
  const { mounts } = bridge
  const { folder, file, config, locate: locateInConfig } = configuration
  const atConfig = (pointer: string) => locateInConfig?.(pointer)
  /** A module that is served without a configuration has a source, but no file that configures it. */
  const atSource = (id: string): string => {
    const index = config.sources.findIndex((source) =>
      Object.values(source).some((value) => [value].flat().join(', ') === id),
    )
    return (index >= 0 ? atConfig(`/sources/${index}`) : undefined) ?? file
  }
  return ({ noun, mount, capability: name, pointer }) => {
    if (noun === 'policy' || noun === 'configuration') return atConfig(pointer) ?? file
    const snapshot = mounts.get(mount)
    if (noun === 'source' && mount === '') return atSource(name)
    const find = (id: string) => snapshot?.sources.find((source) => source.id === id)
    if (noun === 'source')
      return find(name) && (find(name)?.positionOf?.(pointer) ?? atSource(name))
    const entry =
      noun === 'capability'
        ? snapshot?.capabilities.get(name)
        : noun === 'prompt'
          ? snapshot?.prompts.get(name)
          : (snapshot?.views.get(name) ??
            snapshot?.templates.find(({ capability }) => capability.uri === name))
    if (!entry) return undefined
    const { origin } = entry.capability
    return (
      find(origin.source)?.positionOf?.(origin.pointer) ??
      toModule(origin, folder) ??
      atSource(origin.source)
    )
  }
}

/** Capabilities of modules have the file in their pointer. */
function toModule({ pointer }: Capability['origin'], folder: string): string | undefined {
  const [, segment = ''] = pointer.split('/')
  if (segment === '') return undefined
  const file = path.resolve(folder, segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? file : undefined
}
