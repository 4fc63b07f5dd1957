import type { Effects } from '../../../capability/effects.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { ToolCategory } from '../tool-definition.ts'
import type { Shape } from './dialect.ts'

export interface DeclaredEffects {
  readonly category: ToolCategory
  readonly effects: Partial<Effects>
}

/**
 * The effects that MCP annotations declare; hints that are absent have the defaults of the specification.
 * Nothing is declared as long as neither `readOnlyHint` nor `destructiveHint` is.
 */
export function toDeclaredEffects(annotations: Shape): DeclaredEffects | undefined {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  const reachesOut = openWorldHint !== false
  const repeatable = typeof idempotentHint === 'boolean' ? idempotentHint : undefined
  if (readOnlyHint === true)
    return {
      category: reachesOut ? 'read' : 'analysis',
      effects: dropUndefined({ reachesOut, repeatable }),
    }
  if (readOnlyHint !== false && typeof destructiveHint !== 'boolean') return undefined
  return {
    category: 'write',
    effects: {
      reachesOut,
      repeatable: repeatable ?? false,
      irreversible: destructiveHint !== false,
    },
  }
}

const unfavourable = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
}

/** Annotations that are written in several places as one: where they differ, the unfavourable hint. */
export function combineAnnotations(annotations: readonly Shape[]): Shape {
  const entries = Object.entries(unfavourable).map(([hint, bad]) => {
    const values = annotations.map((one) => one[hint]).filter((value) => typeof value === 'boolean')
    return [hint, values.includes(bad) ? bad : values[0]] as const
  })
  return Object.fromEntries(entries)
}
