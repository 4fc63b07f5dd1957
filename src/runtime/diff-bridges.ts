import path from 'node:path'
import { CatalogIndex } from '../catalog/catalog-index.ts'
import { diffSettings } from '../catalog/diff/diff-settings.ts'
import { diffSnapshots } from '../catalog/diff/diff-snapshots.ts'
import type { Difference } from '../catalog/diff/difference.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toConfigSurface } from './config/config-surface.ts'
import { createMask, maskSurface } from './config/mask-values.ts'
import type { UnsetVariables } from './config/unset-variables.ts'
import { createLocator } from './locate-difference.ts'
import type { OpenedDrawbridge } from './open-drawbridge.ts'

/** A difference on one mount, or of the configuration. */
export interface MountedDifference extends Omit<Difference, 'noun'> {
  readonly noun: Difference['noun'] | 'policy' | 'configuration'
  readonly mount: string
}

/** It widens or breaks: `diff` ends with exit code 1. */
export const isSerious = ({ effect, breaking }: MountedDifference): boolean =>
  breaking || effect === 'widening'

export interface DiffOptions {
  /** Positions are relative to this folder. */
  readonly cwd: string
  readonly unset?: UnsetVariables | undefined
}

const emptySnapshot = new CatalogIndex({
  naming: 'portable',
  refine: (capability) => capability,
  text: 'keep',
}).toSnapshot()

/** Differences between two configurations: first of the configuration itself, then mount by mount. */
export function diffBridges(
  before: OpenedDrawbridge,
  now: OpenedDrawbridge,
  { cwd, unset }: DiffOptions,
): MountedDifference[] {
  const mask = createMask([before.configuration, now.configuration], unset)
  const [old, current] = [before.bridge.mounts, now.bridge.mounts]
  const mounts = [...new Set([...old.keys(), ...current.keys()])].sort(byCodeUnit)
  const differences = [
    ...diffConfigurations(before, now),
    ...mounts.flatMap((mount) =>
      diffSnapshots(
        old.get(mount) ?? emptySnapshot,
        current.get(mount) ?? emptySnapshot,
        maskSurface(mask),
      ).map((one) => ({ mount, ...one })),
    ),
  ]
  const locate = createLocator({ before, now })
  return differences.map((one) => {
    const at = locate(one)
    return {
      ...one,
      capability: mask(one.capability),
      message: mask(one.message),
      ...dropUndefined({ at: at && path.relative(cwd, at).split(path.sep).join('/') }),
    }
  })
}

/** A configuration that was made up for a single file has only the name of the file, which is no difference. */
function diffConfigurations(
  { configuration: before }: OpenedDrawbridge,
  { configuration: now }: OpenedDrawbridge,
): Omit<MountedDifference, 'at'>[] {
  if (!before.locate && !now.locate) return []
  return diffSettings(toConfigSurface(before.written), toConfigSurface(now.written)).map(
    (finding) => ({
      mount: '',
      noun: finding.pointer.startsWith('/policy/') ? 'policy' : 'configuration',
      capability: '',
      ...finding,
    }),
  )
}
