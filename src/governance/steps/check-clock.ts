import type { Call } from '../../capability/call.ts'
import { refused } from '../failures.ts'
import type { Clock } from '../ledger.ts'
import type { Check } from './check.ts'
import type { RepeatWindows } from './replay-repeats.ts'

/** Refuses calls that depend on time while the time is uncertain; all others continue. */
export const checkClock = (clock: Clock, windows: RepeatWindows): Check => ({
  name: 'clock',
  enforcedWhenObserving: true,
  decide(call) {
    const doubt = clock.findDoubt()
    if (doubt === undefined || !dependsOnTime(call, windows)) return { passes: call }
    const message = `Nothing was executed, because the time is uncertain. ${doubt}`
    return { ends: refused('clock_uncertain', message, { cause: doubt, retryable: true }) }
  },
})

/** Approvals expire, budgets have days, and keys and duplicates are remembered for a time. */
function dependsOnTime({ capability, idempotencyKey }: Call, { duplicateMs }: RepeatWindows) {
  const { effects, rules } = capability
  if (rules.approval || rules.budgets.length > 0 || rules.cost !== undefined) return true
  if (!effects.writes) return false
  const isCheckedForDuplicates = !effects.repeatable && !rules.repeatsAreMeant && duplicateMs > 0
  return idempotencyKey !== undefined || isCheckedForDuplicates
}
