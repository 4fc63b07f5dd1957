import path from 'node:path'
import { type AlikeDiagnostics, type Diagnostic, groupAlike } from '../capability/diagnostic.ts'
import { CatalogIndex } from '../catalog/catalog-index.ts'
import { diffSettings } from '../catalog/diff/diff-settings.ts'
import { diffSnapshots } from '../catalog/diff/diff-snapshots.ts'
import type { Difference } from '../catalog/diff/difference.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { toConfigSurface } from './config/config-surface.ts'
import { createMask } from './config/mask-values.ts'
import type { UnsetVariables } from './config/unset-variables.ts'
import { createLocator } from './locate-difference.ts'
import type { OpenedDrawbridge } from './open-drawbridge.ts'

/** A difference on one mount; of the configuration or of an error at load, with an empty `mount`. */
export interface MountedDifference extends Omit<Difference, 'noun'> {
  readonly noun: Difference['noun'] | 'policy' | 'configuration'
  readonly mount: string
}

/** It widens, breaks, or hides what does: `diff` ends with exit code 1. */
export const isSerious = (difference: MountedDifference): boolean =>
  difference.breaking || difference.effect === 'widening' || isLoadError(difference)

/** What it concerns may be missing in one state or in both, and then no other difference tells of it. */
export const isLoadError = ({ kind }: MountedDifference): boolean => kind === loadError

const loadError = 'load_error'

/** What diagnostics of the configuration name as their source. */
const configurationSource = 'configuration'

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
  const amend = (diagnostics: readonly Diagnostic[]) => unset?.amend(diagnostics) ?? diagnostics
  const differences = [
    ...listErrors(
      toErrors(amend(before.bridge.diagnostics), before.configuration.folder),
      toErrors(amend(now.bridge.diagnostics), now.configuration.folder),
    ),
    ...diffConfigurations(before, now),
    ...mounts.flatMap((mount) =>
      diffSnapshots(old.get(mount) ?? emptySnapshot, current.get(mount) ?? emptySnapshot).map(
        (one) => ({ mount, ...one }),
      ),
    ),
  ]
  const locate = createLocator({ before, now })
  return differences.map((one: MountedDifference) => {
    const at = one.at ?? locate(one)
    return {
      ...one,
      capability: mask(one.capability),
      message: mask(one.message),
      ...dropUndefined({ at: at && toRelative(at, cwd) }),
    }
  })
}

const toRelative = (at: string, cwd: string): string =>
  /^https?:/.test(at) ? at : path.relative(cwd, at).split(path.sep).join('/')

/** The errors of both states; one that both have is listed once. */
function listErrors(old: Errors, current: Errors): MountedDifference[] {
  return [...new Map([...old, ...current])].map(([key, one]) =>
    toLoadError(one, !old.has(key) ? 'new' : current.has(key) ? 'old and in the new' : 'old'),
  )
}

type Errors = ReadonlyMap<string, AlikeDiagnostics>

/** Both states are in different folders, which must not tell their errors apart. */
const toErrors = (diagnostics: readonly Diagnostic[], folder: string): Errors =>
  new Map(
    groupAlike(diagnostics.filter(({ severity }) => severity === 'error')).map((one) => {
      const { source, pointer } = one.first
      const message = one.first.message.replaceAll(`${folder}${path.sep}`, '')
      const first = { ...one.first, message }
      return [JSON.stringify([source, pointer, message, one.count]), { ...one, first }]
    }),
  )

function toLoadError({ first, count }: AlikeDiagnostics, state: string): MountedDifference {
  const { source, pointer, message, at } = first
  const others = count > 1 ? ` (and ${count - 1} more like it)` : ''
  const isOfConfiguration = source === configurationSource
  return {
    noun: isOfConfiguration ? 'configuration' : 'source',
    mount: '',
    capability: isOfConfiguration ? '' : source,
    pointer,
    kind: loadError,
    effect: 'neutral',
    breaking: false,
    message: `An error in the ${state} state may hide changes: ${message}${others}`,
    ...dropUndefined({ at }),
  }
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
