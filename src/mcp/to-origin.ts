import type { Origin } from '../capability/capability.ts'
import { escapeHidden } from '../json/hidden-characters.ts'

/** The origin for `_meta`. Its parts are identifiers, so hidden characters are escaped, not removed. */
export const toOrigin = (origin: Origin): Origin => ({
  ...origin,
  source: escapeHidden(origin.source),
  pointer: escapeHidden(origin.pointer),
  ...(origin.name !== undefined && { name: escapeHidden(origin.name) }),
})
