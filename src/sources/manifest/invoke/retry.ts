import type { Cancellation } from '../../../capability/cancellation.ts'
import { isFailed } from '../../../capability/outcome.ts'
import type { UpstreamAnswer } from '../../../upstream/upstream.ts'

export interface RetryOptions {
  /** The maximum number of attempts after the first. */
  readonly retries: number
  /** The operation is idempotent. */
  readonly repeatable: boolean
  readonly cancellation: Cancellation
  /** Resolves after that many milliseconds, or when the signal aborts. */
  readonly delay: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

const firstDelayMs = 200
const maxDelayMs = 30_000

/** Retries retryable failures of idempotent operations, and of requests that were never sent. */
export async function withRetries(
  attempt: () => Promise<UpstreamAnswer>,
  { retries, repeatable, cancellation, delay }: RetryOptions,
): Promise<UpstreamAnswer> {
  for (let attempts = 0; ; attempts++) {
    const answer = await attempt()
    const delayMs = toDelay(answer, attempts)
    const isSafe = repeatable || answer.reached === 'no'
    if (delayMs === undefined || !isSafe || attempts >= retries || cancellation.cancelled)
      return answer
    await delay(delayMs, cancellation.signal)
    if (cancellation.cancelled) return answer
  }
}

/** Exponential backoff, or Retry-After if that is longer; absent if a retry is not worthwhile. */
function toDelay({ outcome }: UpstreamAnswer, attempts: number): number | undefined {
  if (!isFailed(outcome) || !outcome.failure.retryable) return undefined
  const retryAfterMs = outcome.failure.details?.retry_after_ms
  const delayMs = Math.max(
    Math.min(firstDelayMs * 2 ** attempts, maxDelayMs),
    Number(retryAfterMs ?? 0),
  )
  return delayMs > maxDelayMs ? undefined : delayMs
}
