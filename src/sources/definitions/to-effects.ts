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

/** A tool of unknown kind: the defaults of MCP's annotations, which are the unfavourable ones. */
const unknown: Effects = { writes: true, irreversible: true, repeatable: false, reachesOut: true }

export const toEffects = (
  category: ToolCategory | undefined,
  level: ConsequenceLevel,
  overrides: Partial<Effects> = {},
): Effects =>
  category
    ? { ...toKnownEffects(category, level), ...overrides }
    : { ...unknown, irreversible: overrides.writes !== false, ...overrides }

const toKnownEffects = (category: ToolCategory, level: ConsequenceLevel): Effects => ({
  ...rows[category],
  // The requirement's "high + write" row. Reads are never irreversible, deletions always are.
  irreversible: category === 'delete' || (rows[category].writes && level === 'high'),
})
