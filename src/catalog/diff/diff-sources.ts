import type { SettingRule, TrustSurface } from '../../capability/trust-surface.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { SourceSummary } from '../snapshot.ts'
import { diffSettings } from './diff-settings.ts'
import { type Difference, pairById } from './difference.ts'

/** Compares sources as a whole. A renamed source is compared with the one at its position, if it is alike. */
export const diffSources = (
  before: readonly SourceSummary[],
  after: readonly SourceSummary[],
): Difference[] =>
  pairById(before, after, ({ id }) => id)
    .both.filter(([old, current]) => old.id === current.id || isAlike(old, current))
    .flatMap(([old, current]) =>
      diffSettings(toSurface(old), toSurface(current)).map((finding) => ({
        noun: 'source' as const,
        capability: current.id,
        ...finding,
      })),
    )

/** Sources of one kind have the same rules. */
const isAlike = (old: SourceSummary, current: SourceSummary): boolean =>
  old.surface?.rules === current.surface?.rules

/** What the source says about itself; if nothing else, what its clients are told. */
function toSurface({ surface, about }: SourceSummary): TrustSurface {
  if (surface) return surface
  if (!about) return { settings: {}, rules: [] }
  const { name, version, title, description, extension } = about
  return { settings: dropUndefined({ name, version, title, description, extension }), rules }
}

// biome-ignore format: table
const rules: readonly SettingRule[] = [
  { at: '/name',        label: 'the name',        judgement: 'text' },
  { at: '/version',     label: 'the version',     judgement: 'text' },
  { at: '/title',       label: 'the title',       judgement: 'text' },
  { at: '/description', label: 'the description', judgement: 'text' },
]
