import type { Call } from '../../capability/call.ts'
import type { Rate } from '../../capability/rules.ts'
import { refused } from '../failures.ts'
import type { Check } from './check.ts'

interface Bucket {
  tokens: number
  filled: number
}

/** Callers that were not seen for so long are forgotten, with a full bucket. */
const mostBuckets = 100_000

/** A token bucket per caller and rate: bursts up to the whole, then evenly. */
export function limitRate(steadyNow: () => number): Check {
  const buckets = new Map<string, Bucket>()
  const find = (id: string, full: number, now: number): Bucket => {
    const known = buckets.get(id)
    // Last used last, so that the first is the one to forget; of no interest while there are few.
    if (known && buckets.size < mostBuckets / 2) return known
    const bucket = known ?? { tokens: full, filled: now }
    buckets.delete(id)
    buckets.set(id, bucket)
    if (buckets.size > mostBuckets) buckets.delete(buckets.keys().next().value as string)
    return bucket
  }
  /** Fills a bucket up to now, and says how long until there is a token in it. */
  const fill = (bucket: Bucket, { calls, seconds }: Rate, now: number): number => {
    const perToken = (seconds * 1000) / calls
    bucket.tokens = Math.min(calls, bucket.tokens + (now - bucket.filled) / perToken)
    bucket.filled = now
    return bucket.tokens >= 1 ? 0 : Math.ceil((1 - bucket.tokens) * perToken)
  }
  return {
    name: 'rate',
    decide(call, rehearsal) {
      const { rates } = call.capability.rules
      if (rates.length === 0) return { passes: call }
      const now = steadyNow()
      const own = rates.map((rate) => find(toId(rate, call), rate.calls, now))
      let wait = 0
      for (const [index, bucket] of own.entries())
        wait = Math.max(wait, fill(bucket, rates[index] as Rate, now))
      if (wait === 0) {
        // From all or from none: what one of them refuses must not use up another.
        if (!rehearsal) for (const bucket of own) bucket.tokens--
        return { passes: call }
      }
      const message = `${call.capability.name} is called too often. Try again in ${wait} ms.`
      const details = { retry_after_ms: wait }
      return { ends: refused('rate_limited', message, { details, retryable: true }) }
    },
  }
}

const toId = ({ id, shared }: Rate, { caller }: Call): string =>
  shared ? id : `${id} ${caller.subject}`
