import type { Effects } from '../../capability/effects.ts'
import type { EffectClass } from './agents/agent.ts'

const rows: Record<EffectClass, Omit<Effects, 'reachesOut'>> = {
  // biome-ignore-start format: table
  read_only: { writes: false, irreversible: false, repeatable: true },
  reversible: { writes: true, irreversible: false, repeatable: false },
  irreversible: { writes: true, irreversible: true, repeatable: false },
  // biome-ignore-end format: table
}

/** The declared effects, completed with the worst case. */
export function toEffects(
  declaration: EffectClass | { readonly [Key in keyof Effects]?: boolean | undefined } | undefined,
  remote: boolean,
): Effects {
  if (typeof declaration === 'string') return { ...rows[declaration], reachesOut: remote }
  const base = rows[declaration?.writes === false ? 'read_only' : 'irreversible']
  const { writes, irreversible, repeatable, reachesOut } = declaration ?? {}
  return {
    writes: writes ?? base.writes,
    irreversible: irreversible ?? base.irreversible,
    repeatable: repeatable ?? base.repeatable,
    reachesOut: reachesOut ?? (remote || declaration === undefined),
  }
}

/** The effects of an intent that several agents serve: the worst case of all. */
export const mergeEffects = (all: readonly Effects[]): Effects => ({
  writes: all.some(({ writes }) => writes),
  irreversible: all.some(({ irreversible }) => irreversible),
  repeatable: all.every(({ repeatable }) => repeatable),
  reachesOut: all.some(({ reachesOut }) => reachesOut),
})

/** A second execution after a possible first one does no harm. */
export const mayRepeat = ({ writes, repeatable }: Effects): boolean => !writes || repeatable
