import type { Effects } from '../capability/effects.ts'
import { isFailed, type Outcome } from '../capability/outcome.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import { upstreamFailed } from './failures.ts'
import type { UpstreamAnswer } from './upstream.ts'

/** A write that may have taken effect is reported as unknown, not failed: a retry could repeat it. */
export function toOutcome(
  { outcome, reached }: UpstreamAnswer,
  { writes }: Pick<Effects, 'writes'>,
): Outcome {
  if (!isFailed(outcome) || reached !== 'maybe' || !writes) return outcome
  const { code, cause } = outcome.failure
  return upstreamFailed(
    'outcome_unknown',
    'The agent did not confirm the result. The call may have taken effect: check before you call it again.',
    { details: { upstream: code }, ...dropUndefined({ cause }) },
  )
}
