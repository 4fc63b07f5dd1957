import type { Call } from '../../capability/call.ts'
import type { Rate } from '../../capability/rules.ts'
import { refused } from '../failures.ts'
import type { Check, CheckMode } from './check.ts'

interface Bucket {
  tokens: number
  filledAt: number
}

/** Beyond this, the least recently used bucket is evicted; it starts full again. */
const maxBuckets = 100_000

/** Token bucket per caller and rate: a burst of up to `calls`, then an even rate. */
export function limitRate(steadyNow: () => number): Check {
  const buckets = new Map<string, Bucket>()
  const find = (id: string, capacity: number, now: number): Bucket => {
    const existing = buckets.get(id)
    // LRU order by re-insertion; skipped while the map is far from its limit.
    if (existing && buckets.size < maxBuckets / 2) return existing
    const bucket = existing ?? { tokens: capacity, filledAt: now }
    buckets.delete(id)
    buckets.set(id, bucket)
    if (buckets.size > maxBuckets) buckets.delete(buckets.keys().next().value as string)
    return bucket
  }
  /** Refills a bucket up to now; returns the milliseconds until it has a token. */
  const fill = (bucket: Bucket, { calls, seconds }: Rate, now: number): number => {
    const msPerToken = (seconds * 1000) / calls
    bucket.tokens = Math.min(calls, bucket.tokens + (now - bucket.filledAt) / msPerToken)
    bucket.filledAt = now
    return bucket.tokens >= 1 ? 0 : Math.ceil((1 - bucket.tokens) * msPerToken)
  }
  /** Takes one token from every bucket, or none; returns the milliseconds until all have one. */
  const take = (call: Call, mode: CheckMode): number => {
    const now = steadyNow()
    let waitMs = 0
    const callBuckets = call.capability.rules.rates.map((rate) => {
      const bucket = find(toId(rate, call), rate.calls, now)
      waitMs = Math.max(waitMs, fill(bucket, rate, now))
      return bucket
    })
    // All or none: a call that one rate refuses must not consume another's tokens. Observed
    // calls count too, otherwise the limit would never be reached.
    if (waitMs === 0 && mode !== 'explain') for (const bucket of callBuckets) bucket.tokens--
    return waitMs
  }
  return {
    name: 'rate',
    decide(call, mode) {
      if (call.capability.rules.rates.length === 0) return { passes: call }
      const waitMs = take(call, mode)
      if (waitMs === 0) {
        const admitRetry = () => {
          const retryWaitMs = take(call, mode)
          return mode === 'enforce' ? retryWaitMs : 0
        }
        return { passes: { ...call, admitRetry } }
      }
      const message = `Rate limit of ${call.capability.name} exceeded. Try again in ${waitMs} ms.`
      const details = { retry_after_ms: waitMs }
      return { ends: refused('rate_limited', message, { details, retryable: true }) }
    },
  }
}

const toId = ({ id, shared }: Rate, { caller }: Call): string =>
  shared ? id : `${id} ${caller.subject}`
