import type { Call } from '../capability/call.ts'
import type { Failed, Outcome } from '../capability/outcome.ts'
import { refused } from './failures.ts'
import type { Step } from './step.ts'

/** Answers by the deadline whatever the capability does, and tells it to stop. */
export const limitTime =
  (fallback: number): Step =>
  (call, next) => {
    const limit = call.capability.rules.timeout ?? fallback
    return new Promise<Outcome>((resolve, reject) => {
      const timer = setTimeout(() => call.cancellation.cancel(tooLate), limit)
      call.cancellation.onCancel((reason) => {
        clearTimeout(timer)
        resolve(reason === tooLate ? timedOut(call, limit) : cancelled(call))
      })
      if (call.cancellation.cancelled) return
      next(call).then(
        (outcome) => {
          clearTimeout(timer)
          resolve(outcome)
        },
        (error) => {
          clearTimeout(timer)
          reject(error)
        },
      )
    })
  }

const tooLate = 'The time limit is over.'

function timedOut({ capability }: Call, limit: number): Failed {
  const retryable = capability.effects.repeatable
  const advice = retryable
    ? 'It may be called again.'
    : 'Whether it took effect is not known: find out before you call it again.'
  const message = `${capability.name} gave no answer within ${limit} ms and was stopped. ${advice}`
  return refused('timed_out', message, { retryable, details: { timeout: limit } })
}

export const cancelled = ({ capability }: Call): Failed =>
  refused('cancelled', `The call of ${capability.name} was cancelled.`)
