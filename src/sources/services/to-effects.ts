import { type Effects, readOnly } from '../../capability/effects.ts'
import type { ServiceSettings } from './options.ts'

/** Declared effects of the action; `*` holds the defaults for all actions. */
export function toEffects({ effects }: ServiceSettings, name: string): Effects {
  const overrides = { ...effects['*'], ...effects[name] }
  return { ...(overrides.writes === false ? readOnly : worstCase), ...overrides }
}

/** MCP's defaults for a tool without annotations. */
const worstCase: Effects = { writes: true, irreversible: true, repeatable: false, reachesOut: true }
