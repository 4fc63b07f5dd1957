import type { Call } from '../../capability/call.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { refused } from '../failures.ts'
import type { Step } from './step.ts'

/** Answers by the deadline whatever the capability does, and tells it to stop. */
export const limitTime =
  (fallback: number): Step =>
  (call, next) => {
    const limit = call.capability.rules.timeout ?? fallback
    return new Promise<Outcome>((resolve, reject) => {
      const deadline = new Deadline(call.cancellation, limit, (reason) =>
        resolve(reason === tooLate ? timedOut(call, limit) : cancelled(call)),
      )
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

/** Timers and listeners are set only for what is not over by the end of this turn: most of it is. */
class Deadline {
  static #fresh: Deadline[] = []
  readonly #cancellation: Cancellation
  readonly #limit: number
  readonly #stop: (reason: string) => void
  #timer: NodeJS.Timeout | undefined
  #lifted = false

  constructor(cancellation: Cancellation, limit: number, stop: (reason: string) => void) {
    this.#cancellation = cancellation
    this.#limit = limit
    this.#stop = stop
    if (Deadline.#fresh.push(this) === 1) setImmediate(Deadline.#setAll)
  }

  lift(): void {
    this.#lifted = true
    clearTimeout(this.#timer)
  }

  static #setAll(): void {
    const fresh = Deadline.#fresh
    Deadline.#fresh = []
    for (const one of fresh) if (!one.#lifted) one.#set()
  }

  #set(): void {
    this.#timer = setTimeout(() => this.#cancellation.cancel(tooLate), this.#limit)
    this.#cancellation.onCancel((reason) => {
      this.lift()
      this.#stop(reason)
    })
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
