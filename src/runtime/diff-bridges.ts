import { byCodePoint } from '../capability/json.ts'
import { CatalogIndex } from '../catalog/catalog-index.ts'
import { diffSnapshots } from '../catalog/diff/diff-snapshots.ts'
import type { Difference } from '../catalog/diff/difference.ts'
import type { Config } from './config/config-shape.ts'
import type { OpenedDrawbridge } from './open-drawbridge.ts'

/** A difference, and the mount it is on. */
export interface MountedDifference extends Omit<Difference, 'noun'> {
  readonly noun: Difference['noun'] | 'policy'
  readonly mount: string
}

const empty = new CatalogIndex('portable', (capability) => capability).toSnapshot()

/** What changed between two configurations: first what holds for all, then mount by mount. */
export function diffBridges(before: OpenedDrawbridge, now: OpenedDrawbridge): MountedDifference[] {
  const [old, current] = [before.bridge.mounts, now.bridge.mounts]
  const mounts = [...new Set([...old.keys(), ...current.keys()])].sort(byCodePoint)
  return [
    ...diffPolicies(before.found.config, now.found.config),
    ...mounts.flatMap((mount) =>
      diffSnapshots(old.get(mount) ?? empty, current.get(mount) ?? empty).map((one) => ({
        mount,
        ...one,
      })),
    ),
  ]
}

interface Watch {
  readonly pointer: string
  /** More lets more happen. */
  readonly of: (config: Config) => number
  readonly looser: string
  readonly tighter: string
  /** Whether a call that got through may be refused once it is tighter. */
  readonly breaks: boolean
}

/** What an operator decides for everything at once, and no capability shows. */
const watches: readonly Watch[] = [
  {
    pointer: '/policy/mode',
    of: ({ policy }) => (policy.mode === 'observe' ? 1 : 0),
    looser: 'Rules are only observed, no longer enforced.',
    tighter: 'Rules are enforced, no longer only observed.',
    breaks: true,
  },
  {
    pointer: '/http/tokens',
    of: ({ http }) => (http.tokens === undefined ? 1 : 0),
    looser: 'Over HTTP nobody has to prove who they are any more.',
    tighter: 'Over HTTP callers must prove who they are now.',
    breaks: true,
  },
  {
    pointer: '/policy/limits/timeout',
    of: ({ policy }) => policy.limits.timeout,
    looser: 'Calls without a limit of their own may take longer.',
    tighter: 'Calls without a limit of their own are stopped earlier.',
    breaks: false,
  },
]

const diffPolicies = (before: Config, now: Config): MountedDifference[] =>
  watches.flatMap(({ pointer, of, looser, tighter, breaks }) => {
    const [old, current] = [of(before), of(now)]
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
        message: isLooser ? looser : tighter,
      },
    ]
  })
