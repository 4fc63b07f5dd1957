import type { Call } from '../../capability/call.ts'
import type { Asking, Failed, Outcome } from '../../capability/outcome.ts'
import type { Next, Step } from './step.ts'

/** A condition that a call must meet before it may take effect. Unlike other steps, rehearsable. */
export interface Check {
  readonly name: string
  /** Correctness rather than policy: invalid input never runs, and nothing runs twice. */
  readonly enforcedWhenObserving?: true
  decide(call: Call, mode: CheckMode): Verdict | Promise<Verdict>
}

/**
 * - `enforce`: the verdict counts.
 * - `observe`: the verdict is recorded and the call goes on. Rates and budgets keep counting; no
 *   approval is requested.
 * - `explain`: a rehearsal without any side effect.
 */
export type CheckMode = 'enforce' | 'observe' | 'explain'

/** The call goes on (unchanged, or as a new one), or ends here. */
export type Verdict =
  | { readonly passes: Call; readonly note?: string }
  /** `continuesAs` replaces the call when policy is only observed or explained. */
  | { readonly ends: Outcome; readonly continuesAs?: Call }

export const toStep = (check: Check, observeOnly: boolean): Step => {
  const observes = observeOnly && check.enforcedWhenObserving !== true
  const mode = observes ? 'observe' : 'enforce'
  const proceed = (call: Call, verdict: Verdict, next: Next): Promise<Outcome> => {
    if ('passes' in verdict) {
      const { note } = verdict
      if (note !== undefined && !observes)
        call.auditTrail.decisions.push({ step: check.name, decision: 'allowed', note })
      return next(verdict.passes)
    }
    const { ends } = verdict
    if (ends.kind === 'done') return Promise.resolve(ends)
    call.auditTrail.decisions.push({ step: check.name, ...toDecision(ends, observes) })
    return observes ? next(verdict.continuesAs ?? call) : Promise.resolve(ends)
  }
  // Avoids async: most checks decide synchronously, and a promise each would cost more than they do.
  return (call, next) => {
    const verdict = check.decide(call, mode)
    return verdict instanceof Promise
      ? verdict.then((result) => proceed(call, result, next))
      : proceed(call, verdict, next)
  }
}

const toDecision = (ends: Asking | Failed, observes: boolean) =>
  ends.kind === 'asking'
    ? { decision: observes ? ('would_ask' as const) : ('asked' as const) }
    : {
        decision: observes ? ('would_refuse' as const) : ('refused' as const),
        code: ends.failure.code,
      }
