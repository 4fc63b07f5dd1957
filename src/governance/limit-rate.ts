import type { Rate } from '../capability/rules.ts'
import type { Check } from './check.ts'
import { refused } from './failures.ts'

interface Bucket {
  readonly tokens: number
  readonly filled: number
}

/** Callers that were not seen for so long are forgotten, with a full bucket. */
const mostBuckets = 100_000

/** A token bucket per caller and rate: bursts up to the whole, then evenly. */
export function limitRate(steadyNow: () => number): Check {
  const buckets = new Map<string, Bucket>()
  const look = (rate: Rate, caller: string) => {
    const id = `${rate.id} ${caller}`
    const now = steadyNow()
    const perToken = (rate.seconds * 1000) / rate.calls
    const former = buckets.get(id)
    const refilled = former ? former.tokens + (now - former.filled) / perToken : rate.calls
    const tokens = Math.min(rate.calls, refilled)
    const wait = tokens >= 1 ? 0 : Math.ceil((1 - tokens) * perToken)
    return { id, wait, after: { tokens: tokens - 1, filled: now } }
  }
  const take = (id: string, after: Bucket) => {
    // Last used last, so that the first in the map is the one to forget.
    buckets.delete(id)
    buckets.set(id, after)
    const [oldest] = buckets.keys()
    if (buckets.size > mostBuckets && oldest !== undefined) buckets.delete(oldest)
  }
  return {
    name: 'rate',
    decide(call, rehearsal) {
      const { rates } = call.capability.rules
      if (rates.length === 0) return { passes: call }
      const looks = rates.map((rate) => look(rate, call.caller.subject))
      const wait = Math.max(...looks.map((one) => one.wait))
      if (wait === 0) {
        // From all or from none: what one of them refuses must not use up another.
        if (!rehearsal) for (const { id, after } of looks) take(id, after)
        return { passes: call }
      }
      const message = `${call.capability.name} is called too often. Try again in ${wait} ms.`
      const details = { retry_after_ms: wait }
      return { ends: refused('rate_limited', message, { details, retryable: true }) }
    },
  }
}
