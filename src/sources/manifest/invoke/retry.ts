import type { Cancellation } from '../../../capability/cancellation.ts'
import { isFailed, type Notice } from '../../../capability/outcome.ts'
import type { UpstreamAnswer } from '../../../upstream/upstream.ts'

export interface RetryOptions {
  /** The maximum number of attempts after the first. */
  readonly retries: number
  /** The operation is idempotent. */
  readonly repeatable: boolean
  readonly cancellation: Cancellation
  /** Resolves after that many milliseconds, or when the signal aborts. */
  readonly delay: (milliseconds: number, signal: AbortSignal) => Promise<void>
  /** Returns 0, or the milliseconds until the rates allow another attempt. */
  readonly admitRetry: () => number
}

export interface RetriedAnswer extends UpstreamAnswer {
  /** Why there was no further attempt, if a rate limit is the reason. */
  readonly notice?: Notice
}

const firstDelayMs = 200
const maxDelayMs = 30_000

/** Retries retryable failures of idempotent operations, and of requests that were never sent. */
export async function withRetries(
  attempt: () => Promise<UpstreamAnswer>,
  { retries, repeatable, cancellation, delay, admitRetry }: RetryOptions,
): Promise<RetriedAnswer> {
  for (let attempts = 0; ; attempts++) {
    const answer = await attempt()
    const delayMs = toDelay(answer, attempts)
    const isSafe = repeatable || answer.reached === 'no'
    if (delayMs === undefined || !isSafe || attempts >= retries || cancellation.cancelled)
      return answer
    await delay(delayMs, cancellation.signal)
    if (cancellation.cancelled) return answer
    const waitMs = admitRetry()
    if (waitMs > 0) return { ...answer, notice: notRetried(attempts + 1, waitMs) }
  }
}

function notRetried(attempts: number, waitMs: number): Notice {
  const times = attempts === 1 ? 'once' : `${attempts} times`
  const text = `The agent was tried ${times} and not again, because its rate limit is used up. Try again in ${waitMs} ms.`
  return { about: 'retry', text, data: { attempts, retry_after_ms: waitMs } }
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
