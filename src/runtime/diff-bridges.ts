import { CatalogIndex } from '../catalog/catalog-index.ts'
import { diffSnapshots } from '../catalog/diff/diff-snapshots.ts'
import type { Difference } from '../catalog/diff/difference.ts'
import { byCodeUnit } from '../json/by-code-unit.ts'
import type { Config } from './config/config-shape.ts'
import type { OpenedDrawbridge } from './open-drawbridge.ts'

/** A difference on one mount, or of the policy. */
export interface MountedDifference extends Omit<Difference, 'noun'> {
  readonly noun: Difference['noun'] | 'policy'
  readonly mount: string
}

const empty = new CatalogIndex({
  naming: 'portable',
  refine: (capability) => capability,
  text: 'keep',
}).toSnapshot()

/** Differences between two configurations: first the policy, then mount by mount. */
export function diffBridges(before: OpenedDrawbridge, now: OpenedDrawbridge): MountedDifference[] {
  const [old, current] = [before.bridge.mounts, now.bridge.mounts]
  const mounts = [...new Set([...old.keys(), ...current.keys()])].sort(byCodeUnit)
  return [
    ...diffPolicies(before.configuration.config, now.configuration.config),
    ...mounts.flatMap((mount) =>
      diffSnapshots(old.get(mount) ?? empty, current.get(mount) ?? empty).map((one) => ({
        mount,
        ...one,
      })),
    ),
  ]
}

interface PolicySetting {
  readonly pointer: string
  /** A larger value is less strict. */
  readonly looseness: (config: Config) => number
  readonly looser: string
  readonly stricter: string
  /** The stricter value may refuse calls that were allowed. */
  readonly breaks: boolean
}

/** Settings that apply to all capabilities, so that no single capability shows the change. */
const policySettings: readonly PolicySetting[] = [
  {
    pointer: '/policy/mode',
    looseness: ({ policy }) => (policy.mode === 'observe' ? 1 : 0),
    looser: 'Rules are only observed, and no longer enforced.',
    stricter: 'Rules are enforced, and no longer only observed.',
    breaks: true,
  },
  {
    pointer: '/http/tokens',
    looseness: ({ http }) => (http.tokens === undefined ? 1 : 0),
    looser: 'HTTP callers no longer have to authenticate.',
    stricter: 'HTTP callers now have to authenticate.',
    breaks: true,
  },
  {
    pointer: '/policy/limits/timeout',
    looseness: ({ policy }) => policy.limits.timeout,
    looser: 'Calls without a timeout of their own may take longer.',
    stricter: 'Calls without a timeout of their own are stopped earlier.',
    breaks: false,
  },
]

const diffPolicies = (before: Config, now: Config): MountedDifference[] =>
  policySettings.flatMap(({ pointer, looseness, looser, stricter, breaks }) => {
    const [old, current] = [looseness(before), looseness(now)]
    if (old === current) return []
    const isLooser = current > old
    return [
      {
        mount: '',
        noun: 'policy' as const,
        capability: '',
        pointer,
        kind: 'policy_changed',
        effect: isLooser ? ('widening' as const) : ('narrowing' as const),
        breaking: breaks && !isLooser,
        message: isLooser ? looser : stricter,
      },
    ]
  })
