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
      const deadline = new Deadline(() => call.cancellation.cancel(tooLate), limit)
      call.cancellation.onCancel((reason) => {
        deadline.lift()
        resolve(reason === tooLate ? timedOut(call, limit) : cancelled(call))
      })
      if (call.cancellation.cancelled) return
      next(call).then(
        (outcome) => {
          deadline.lift()
          resolve(outcome)
        },
        (error) => {
          deadline.lift()
          reject(error)
        },
      )
    })
  }

/** A timer that is set only for what is not over by the end of this turn: most of it is. */
class Deadline {
  static #fresh: Deadline[] = []
  #timer: NodeJS.Timeout | undefined
  #lifted = false
  readonly #pass: () => void
  readonly #limit: number

  constructor(pass: () => void, limit: number) {
    this.#pass = pass
    this.#limit = limit
    if (Deadline.#fresh.push(this) === 1) setImmediate(Deadline.#setAll)
  }

  lift(): void {
    this.#lifted = true
    clearTimeout(this.#timer)
  }

  static #setAll(): void {
    const fresh = Deadline.#fresh
    Deadline.#fresh = []
    for (const one of fresh) if (!one.#lifted) one.#timer = setTimeout(one.#pass, one.#limit)
  }
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
