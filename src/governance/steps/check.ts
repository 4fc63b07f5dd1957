import type { Call } from '../../capability/call.ts'
import type { Asking, Failed, Outcome } from '../../capability/outcome.ts'
import type { Next, Step } from './step.ts'

/** One question a call must answer before it may take effect. */
export interface Check {
  readonly name: string
  /** In a rehearsal nothing is written, asked or used up: it only says what would happen. */
  decide(call: Call, rehearsal: boolean): Verdict | Promise<Verdict>
}

/** Goes on (as it is, or as a new call), or ends here. */
export type Verdict =
  | { readonly passes: Call; readonly note?: string }
  /** `otherwise` is the call that goes on all the same where policy only observes. */
  | { readonly ends: Outcome; readonly otherwise?: Call }

/**
 * Whether a check is enforced, or only written down. Observing leaves out what is not the
 * operator's policy: nothing invalid runs, and nothing runs twice.
 */
export const toStep = (check: Check, observes: boolean): Step => {
  const proceed = (call: Call, verdict: Verdict, next: Next): Promise<Outcome> => {
    if ('passes' in verdict) {
      const { note } = verdict
      if (note !== undefined && !observes)
        call.trail.decisions.push({ step: check.name, decision: 'allowed', note })
      return next(verdict.passes)
    }
    const { ends } = verdict
    if (ends.kind === 'done') return Promise.resolve(ends)
    call.trail.decisions.push({ step: check.name, ...toDecision(ends, observes) })
    return observes ? next(verdict.otherwise ?? call) : Promise.resolve(ends)
  }
  // Not async: most checks of most calls pass at once, and a promise for each would cost more.
  return (call, next) => {
    const decided = check.decide(call, observes)
    return decided instanceof Promise
      ? decided.then((verdict) => proceed(call, verdict, next))
      : proceed(call, decided, next)
  }
}

const toDecision = (ends: Asking | Failed, observes: boolean) =>
  ends.kind === 'asking'
    ? { decision: observes ? ('would_ask' as const) : ('asked' as const) }
    : {
        decision: observes ? ('would_refuse' as const) : ('refused' as const),
        code: ends.failure.code,
      }
