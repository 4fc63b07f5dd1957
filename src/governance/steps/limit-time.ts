import type { Call } from '../../capability/call.ts'
import type { Cancellation } from '../../capability/cancellation.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { refused } from '../failures.ts'
import type { Step } from './step.ts'

/** Answers by the deadline even if the capability does not, and cancels it. */
export const limitTime =
  (defaultTimeoutMs: number): Step =>
  (call, next) => {
    const timeoutMs = call.capability.rules.timeout ?? defaultTimeoutMs
    return new Promise<Outcome>((resolve, reject) => {
      const deadline = new Deadline(call.cancellation, timeoutMs, (reason) =>
        resolve(reason === timeoutReason ? timedOut(call, timeoutMs) : cancelled(call)),
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

/** Sets timer and listener in the next turn of the event loop: most calls have ended by then. */
class Deadline {
  static #unarmed: Deadline[] = []
  readonly #cancellation: Cancellation
  readonly #timeoutMs: number
  readonly #stop: (reason: string) => void
  #timer: NodeJS.Timeout | undefined
  #lifted = false

  constructor(cancellation: Cancellation, timeoutMs: number, stop: (reason: string) => void) {
    this.#cancellation = cancellation
    this.#timeoutMs = timeoutMs
    this.#stop = stop
    if (Deadline.#unarmed.push(this) === 1) setImmediate(Deadline.#armAll)
  }

  lift(): void {
    this.#lifted = true
    clearTimeout(this.#timer)
  }

  static #armAll(): void {
    const unarmed = Deadline.#unarmed
    Deadline.#unarmed = []
    for (const deadline of unarmed) if (!deadline.#lifted) deadline.#arm()
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#cancellation.cancel(timeoutReason), this.#timeoutMs)
    this.#cancellation.onCancel((reason) => {
      this.lift()
      this.#stop(reason)
    })
  }
}

const timeoutReason = 'The time limit was exceeded.'

function timedOut({ capability }: Call, timeoutMs: number): Failed {
  const retryable = capability.effects.repeatable
  const advice = retryable
    ? 'It is safe to call it again.'
    : 'It is not known if it took effect: find out before you call it again.'
  const message = `${capability.name} did not answer within ${timeoutMs} ms and was cancelled. ${advice}`
  return refused('timed_out', message, { retryable, details: { timeout: timeoutMs } })
}

export const cancelled = ({ capability }: Call): Failed =>
  refused('cancelled', `The call of ${capability.name} was cancelled.`)
