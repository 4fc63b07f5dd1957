import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { LeftOut, Translation } from './dialect.ts'
import { scopesUnknown, toPermissions } from './scope-challenge.ts'

/** Leaves out a tool that its author disabled, or whose scopes are not known; known scopes are permissions. */
export function applyRestrictions(translation: Translation): Translation | LeftOut {
  const { disabledBy, scopeChallenges, ...definition } = translation.definition
  if (disabledBy !== undefined)
    return {
      leftOut: `it is disabled: ${disabledBy}`,
      code: 'tool_left_out',
      severity: 'info',
    }
  if (!Array.isArray(scopeChallenges) || scopeChallenges.length === 0)
    return { ...translation, definition }
  const permissions = toPermissions(scopeChallenges, definition.permissions)
  if (!permissions)
    return { leftOut: scopesUnknown, code: 'permissions_unknown', severity: 'error' }
  return { ...translation, definition: dropUndefined({ ...definition, permissions }) }
}
