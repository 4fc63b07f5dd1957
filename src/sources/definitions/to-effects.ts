import type { Effects } from '../../capability/effects.ts'
import type { ConsequenceLevel, ToolCategory } from './tool-definition.ts'

/** The "Annotation Inference" table of the requirement, row by row, and two later categories. */
const rows: Record<ToolCategory, Omit<Effects, 'irreversible'>> = {
  // biome-ignore-start format: table
  read: { writes: false, repeatable: true, reachesOut: true },
  write: { writes: true, repeatable: false, reachesOut: true },
  analysis: { writes: false, repeatable: true, reachesOut: false },
  delete: { writes: true, repeatable: false, reachesOut: true },
  side_effect: { writes: true, repeatable: false, reachesOut: true },
  // biome-ignore-end format: table
}

export const toEffects = (
  category: ToolCategory,
  level: ConsequenceLevel,
  overrides: Partial<Effects> = {},
): Effects => ({
  ...rows[category],
  // The requirement's "high + write" row. Reads are never irreversible, deletions always are.
  irreversible: category === 'delete' || (rows[category].writes && level === 'high'),
  ...overrides,
})
