import type { Effects } from '../../capability/effects.ts'
import type { EffectClass } from './agents/agent.ts'

const rows: Record<EffectClass, Omit<Effects, 'reachesOut'>> = {
  // biome-ignore-start format: table
  read_only: { writes: false, irreversible: false, repeatable: true },
  reversible: { writes: true, irreversible: false, repeatable: false },
  irreversible: { writes: true, irreversible: true, repeatable: false },
  // biome-ignore-end format: table
}

/** What an agent says of itself, completed with the worst. */
export function toEffects(
  said: EffectClass | { readonly [Key in keyof Effects]?: boolean | undefined } | undefined,
  remote: boolean,
): Effects {
  if (typeof said === 'string') return { ...rows[said], reachesOut: remote }
  const base = rows[said?.writes === false ? 'read_only' : 'irreversible']
  const { writes, irreversible, repeatable, reachesOut } = said ?? {}
  return {
    writes: writes ?? base.writes,
    irreversible: irreversible ?? base.irreversible,
    repeatable: repeatable ?? base.repeatable,
    reachesOut: reachesOut ?? (remote || said === undefined),
  }
}

/** Of an intent that several agents serve: whatever one of them may do. */
export const mergeEffects = (all: readonly Effects[]): Effects => ({
  writes: all.some(({ writes }) => writes),
  irreversible: all.some(({ irreversible }) => irreversible),
  repeatable: all.every(({ repeatable }) => repeatable),
  reachesOut: all.some(({ reachesOut }) => reachesOut),
})

/** Whether it may be done again after it may have been done. */
export const mayRepeat = ({ writes, repeatable }: Effects): boolean => !writes || repeatable
