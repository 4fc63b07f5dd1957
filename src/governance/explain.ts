import type { Call } from '../capability/call.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Check } from './steps/check.ts'

/** The decision that one step would make about a call. */
export interface Explanation {
  /** Name of the step, such as `permissions` or `budget`; `route` for the choice of agents. */
  readonly step: string
  /** `replay`: an earlier result with the same idempotency key would be returned. */
  readonly would: 'pass' | 'refuse' | 'ask' | 'replay'
  /** Failure code of a refusal. */
  readonly code?: string
  /** The reason, in one sentence. */
  readonly why?: string
}

/** Runs the checks on a call without side effects, and reports what each would decide. */
export async function explainCall(checks: readonly Check[], call: Call): Promise<Explanation[]> {
  const explanations: Explanation[] = []
  let current = call
  for (const check of checks) {
    const step = check.name
    const verdict = await check.decide(current, 'explain')
    if ('passes' in verdict) {
      explanations.push(dropUndefined({ step, would: 'pass' as const, why: verdict.note }))
      current = verdict.passes
      continue
    }
    const { ends, continuesAs } = verdict
    if (ends.kind === 'failed') {
      const { code, message } = ends.failure
      explanations.push({ step, would: 'refuse', code, why: message })
    } else explanations.push({ step, would: ends.kind === 'asking' ? 'ask' : 'replay' })
    // Later checks rely on parsed input, and a replay ends the call.
    if (step === 'input' || ends.kind === 'done') break
    current = continuesAs ?? current
  }
  return explanations
}
