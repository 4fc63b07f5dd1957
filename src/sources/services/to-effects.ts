import { type Effects, reads } from '../../capability/effects.ts'
import type { ServiceSettings } from './options.ts'

/** What is said of an action, over what is said of all of them. */
export function toEffects({ effects }: ServiceSettings, name: string): Effects {
  const said = { ...effects['*'], ...effects[name] }
  return { ...(said.writes === false ? reads : unknown), ...said }
}

/** Nobody has said what it does: what the protocol assumes of such a tool, which is the worst. */
const unknown: Effects = { writes: true, irreversible: true, repeatable: false, reachesOut: true }
