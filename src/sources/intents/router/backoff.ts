import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RoutingRun } from './routing.ts'

/**
 * Exponential backoff with jitter. The jitter is a hash of the trace, the agent and the retry:
 * different requests spread out, and the same request always waits the same time.
 */
export function toBackoff(baseMs: number, traceId: string, agent: string, retry: number): number {
  const digits = hash('sha256', `${traceId} ${agent} ${retry}`, 'hex').slice(0, 8)
  const fraction = Number.parseInt(digits, 16) / 0xffffffff
  return baseMs * 2 ** (retry - 1) * (0.5 + fraction / 2)
}

/** Waits before a retry; `false` when the deadline would pass meanwhile or the call is cancelled. */
export async function waitBeforeRetry(
  { options, context, envelope, deadline }: RoutingRun,
  agent: string,
  retry: number,
): Promise<boolean> {
  const { policy, steadyNow } = options
  const { cancellation } = context
  const waitMs = toBackoff(policy.backoff, envelope.metadata.traceId, agent, retry)
  if (cancellation.cancelled || steadyNow() + waitMs >= deadline) return false
  const abort = new AbortController()
  const unsubscribe = cancellation.onCancel(() => abort.abort())
  await sleep(waitMs, undefined, { signal: abort.signal }).catch(() => {})
  unsubscribe()
  return !cancellation.cancelled
}
