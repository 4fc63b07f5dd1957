import type { Call } from '../../capability/call.ts'
import { shutdownReason } from '../../capability/cancellation.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { refused } from '../failures.ts'
import type { Step } from './step.ts'

/** Answers by the deadline even if the capability does not, and cancels it. */
export const limitTime =
  (defaultTimeoutMs: number): Step =>
  (call, next) =>
    new Promise<Outcome>((resolve, reject) => {
      if (call.cancellation.cancelled) return resolve(cancelled(call))
      const deadline = new Deadline(call, defaultTimeoutMs, resolve)
      const fail = (thrown: unknown) => {
        deadline.lift()
        reject(thrown)
      }
      try {
        next(call).then((outcome) => {
          deadline.lift()
          resolve(outcome)
        }, fail)
      } catch (thrown) {
        fail(thrown)
      }
    })

/** Sets timer and listener in the next turn of the event loop: most calls have ended by then. */
class Deadline {
  static #unarmed: Deadline[] = []
  readonly #call: Call
  readonly #timeoutMs: number
  readonly #answer: (outcome: Outcome) => void
  #timer: NodeJS.Timeout | undefined
  #lifted = false

  constructor(call: Call, defaultTimeoutMs: number, answer: (outcome: Outcome) => void) {
    this.#call = call
    this.#timeoutMs = call.capability.rules.timeout ?? defaultTimeoutMs
    this.#answer = answer
    if (Deadline.#unarmed.push(this) === 1) setImmediate(Deadline.#armAll)
  }

  lift(): void {
    this.#lifted = true
    if (this.#timer) clearTimeout(this.#timer)
  }

  static #armAll(): void {
    const unarmed = Deadline.#unarmed
    Deadline.#unarmed = []
    for (const deadline of unarmed) if (!deadline.#lifted) deadline.#arm()
  }

  #arm(): void {
    const { cancellation } = this.#call
    this.#timer = setTimeout(() => cancellation.cancel(timeoutReason), this.#timeoutMs)
    cancellation.onCancel((reason) => {
      this.lift()
      this.#answer(toInterrupted(this.#call, reason, this.#timeoutMs))
    })
  }
}

const timeoutReason = 'The time limit was exceeded.'

function toInterrupted(call: Call, reason: string, timeoutMs: number): Failed {
  if (reason === timeoutReason) return timedOut(call, timeoutMs)
  return reason === shutdownReason ? stopped(call) : cancelled(call)
}

/** The server stopped while the capability was running. */
function stopped({ id, capability }: Call): Failed {
  const { writes, repeatable } = capability.effects
  const begin = `The server stopped while ${capability.name} was running`
  const details = { call: id }
  if (!writes)
    return refused('cancelled', `${begin}. It is safe to call it again.`, { retryable: true })
  if (repeatable)
    return refused(
      'outcome_unknown',
      `${begin}, and it is unknown if it took effect. It is safe to call it again.`,
      { details, retryable: true },
    )
  const advice = `Do not call it again. Find out, and have the operator settle it: drawbridge runs settle ${id}`
  return refused('outcome_unknown', `${begin}, and it is unknown if it took effect. ${advice}`, {
    details,
  })
}

function timedOut({ capability }: Call, timeoutMs: number): Failed {
  const retryable = capability.effects.repeatable
  const advice = retryable
    ? 'It is safe to call it again.'
    : 'It is not known if it took effect: find out before you call it again.'
  const message = `${capability.name} did not answer within ${timeoutMs} ms and was cancelled. ${advice}`
  return refused('timed_out', message, { retryable, details: { timeout: timeoutMs } })
}

export const cancelled = ({ capability, cancellation }: Call): Failed =>
  cancellation.reason === shutdownReason
    ? refused('cancelled', `The server is shutting down. ${capability.name} was not executed.`, {
        retryable: true,
      })
    : refused('cancelled', `The call of ${capability.name} was cancelled.`)
