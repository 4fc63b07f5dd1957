import { refused } from '../failures.ts'
import { missingScopes } from '../permits.ts'
import type { Check } from './check.ts'

export const checkPermissions: Check = {
  name: 'permissions',
  decide(call) {
    const missing = missingScopes(call.caller, call.capability)
    if (missing.length === 0) return { passes: call }
    const message = `${call.capability.name} requires the scopes ${missing.join(' ')}.`
    return { ends: refused('insufficient_scope', message, { details: { missing } }) }
  },
}
