import type { Call } from '../../capability/call.ts'
import type { Asking, Failed, Outcome } from '../../capability/outcome.ts'

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
  | {
      readonly ends: Outcome
      /** Replaces the call when policy is only observed or explained. */
      readonly continuesAs?: Call
      /** Name of the step that has decided, if it is another one. */
      readonly by?: string
    }

/** Records the verdict for the audit. Returns the call that goes on, or the outcome that ends it. */
export function applyVerdict(
  { name }: Check,
  mode: CheckMode,
  call: Call,
  verdict: Verdict,
): Call | Outcome {
  const observes = mode === 'observe'
  if ('passes' in verdict) {
    const { passes, note } = verdict
    if (note !== undefined && !observes)
      call.auditTrail.decisions.push({ step: name, decision: 'allowed', note })
    return passes
  }
  const { ends, continuesAs = call, by = name } = verdict
  noteEnd(call, by, ends, observes)
  return observes && ends.kind !== 'done' ? continuesAs : ends
}

/** Records for the audit which step has ended a call. A replay is none of the decisions. */
export function noteEnd(call: Call, step: string, ends: Outcome, observes = false): void {
  if (ends.kind !== 'done') call.auditTrail.decisions.push({ step, ...toDecision(ends, observes) })
}

const toDecision = (ends: Asking | Failed, observes: boolean) =>
  ends.kind === 'asking'
    ? { decision: observes ? ('would_ask' as const) : ('asked' as const) }
    : {
        decision: observes ? ('would_refuse' as const) : ('refused' as const),
        code: ends.failure.code,
      }
