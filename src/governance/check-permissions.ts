import { refused } from './failures.ts'
import { missingScopes } from './permits.ts'
import type { Step } from './step.ts'

export const checkPermissions: Step = async (call, next) => {
  const missing = missingScopes(call.caller, call.capability)
  if (missing.length === 0) return next(call)
  const message = `${call.capability.name} needs the scopes ${missing.join(' ')}.`
  return refused('insufficient_scope', message, { details: { missing } })
}
