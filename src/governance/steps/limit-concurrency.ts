import type { Call } from '../../capability/call.ts'
import { FairShares, type ShareLimits } from '../../capability/fair-shares.ts'
import type { Failed } from '../../capability/outcome.ts'
import { refused } from '../failures.ts'
import type { Interceptor } from './interceptor.ts'

const retryAfterMs = 1000

/**
 * Limits the calls of one caller that run at the same time. It protects the process, so observe mode
 * enforces it too. Calls that a call makes itself are part of it and not counted: they would be refused
 * halfway.
 */
export function limitConcurrency(limits: ShareLimits): Interceptor {
  const running = new FairShares(limits)
  return {
    enter: (call) =>
      call.isInner || running.take(call.caller.subject) ? call : tooManyCalls(call),
    leave(call, outcome) {
      if (!call.isInner) running.release(call.caller.subject)
      return outcome
    },
  }
}

function tooManyCalls({ capability, auditTrail }: Call): Failed {
  auditTrail.decisions.push({ step: 'concurrency', decision: 'refused', code: 'rate_limited' })
  const message = `Too many calls are running. ${capability.name} was not executed. Wait for running calls to end, then try again.`
  const details = { retry_after_ms: retryAfterMs }
  return refused('rate_limited', message, { details, retryable: true })
}
