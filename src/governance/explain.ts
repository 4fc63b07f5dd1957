import type { Call } from '../capability/call.ts'
import type { Check } from './steps/check.ts'

/** What one step would say. */
export interface Explanation {
  readonly step: string
  readonly would: 'pass' | 'refuse' | 'ask' | 'replay'
  readonly code?: string
  readonly why?: string
}

/** Lets a call pass the checks without taking effect anywhere, and tells what each would decide. */
export async function explainCall(checks: readonly Check[], call: Call): Promise<Explanation[]> {
  const told: Explanation[] = []
  let current = call
  for (const check of checks) {
    const verdict = await check.decide(current, true)
    if ('passes' in verdict) {
      const { note } = verdict
      told.push({ step: check.name, would: 'pass', ...(note !== undefined && { why: note }) })
      current = verdict.passes
      continue
    }
    const { ends, otherwise } = verdict
    if (ends.kind === 'failed') {
      const { code, message } = ends.failure
      told.push({ step: check.name, would: 'refuse', code, why: message })
    } else told.push({ step: check.name, would: ends.kind === 'asking' ? 'ask' : 'replay' })
    // Nothing sensible can be said about what is not valid.
    if (check.name === 'input' || ends.kind === 'done') break
    current = otherwise ?? current
  }
  return told
}
