import type { Effects } from '../../capability/effects.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { upstreamFailed } from '../../upstream/failures.ts'
import type { UpstreamAnswer } from '../../upstream/upstream.ts'

/** What may have taken effect is not called failed: whoever believes that would do it twice. */
export function toOutcome(
  { outcome, reached }: UpstreamAnswer,
  { writes }: Pick<Effects, 'writes'>,
): Outcome {
  if (outcome.kind !== 'failed' || reached !== 'maybe' || !writes) return outcome
  const { code, cause } = outcome.failure
  return upstreamFailed(
    'outcome_unknown',
    'The agent gave no certain answer. Whether it took effect is not known: find out before you call it again.',
    { details: { upstream: code }, ...(cause !== undefined && { cause }) },
  )
}
