import type { Cancellation } from '../../../capability/cancellation.ts'
import type { UpstreamAnswer } from '../../../upstream/upstream.ts'

export interface RetryOptions {
  /** How many times it is tried again after the first. */
  readonly retries: number
  /** Whether doing it twice does no more than doing it once. */
  readonly repeatable: boolean
  readonly cancellation: Cancellation
  /** Resolves after that many milliseconds, or earlier when the signal fires. */
  readonly delay: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

const firstWait = 200
const longestWait = 30_000

/** Tries again what may work another time, where a second try cannot do harm. */
export async function withRetries(
  attempt: () => Promise<UpstreamAnswer>,
  { retries, repeatable: safe, cancellation, delay }: RetryOptions,
): Promise<UpstreamAnswer> {
  for (let tried = 0; ; tried++) {
    const answer = await attempt()
    const wait = toWait(answer, tried)
    const harmless = safe || answer.reached === 'no'
    if (wait === undefined || !harmless || tried >= retries || cancellation.cancelled) return answer
    await delay(wait, cancellation.signal)
    if (cancellation.cancelled) return answer
  }
}

/** Twice as long every time, and at least as long as the agent asked for; absent: not worth it. */
function toWait({ outcome }: UpstreamAnswer, tried: number): number | undefined {
  if (outcome.kind !== 'failed' || !outcome.failure.retryable) return undefined
  const asked = outcome.failure.details?.retry_after_ms
  const wait = Math.max(Math.min(firstWait * 2 ** tried, longestWait), Number(asked ?? 0))
  return wait > longestWait ? undefined : wait
}
