import type { Call } from '../capability/call.ts'
import { shutdownReason } from '../capability/cancellation.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Interceptor } from '../governance/steps/interceptor.ts'

/** Tracks running calls, so that shutdown can wait for them. */
export class InFlight implements Interceptor {
  readonly #calls = new Set<Call>()
  #onEmpty: (() => void) | undefined
  #isSettling = false

  enter(call: Call): Call {
    // Not executed, but recorded in the audit. Open connections would otherwise delay the exit for ever.
    if (this.#isSettling && !call.isInner) call.cancellation.cancel(shutdownReason)
    this.#calls.add(call)
    return call
  }

  leave(call: Call, outcome: Outcome): Outcome {
    this.#calls.delete(call)
    if (this.#calls.size === 0) this.#onEmpty?.()
    return outcome
  }

  /** Waits for running calls, and cancels those that run longer than `graceMs`. */
  async settle(graceMs: number): Promise<void> {
    this.#isSettling = true
    const timer = setTimeout(() => {
      for (const { cancellation } of this.#calls) cancellation.cancel(shutdownReason)
    }, graceMs)
    if (this.#calls.size > 0)
      await new Promise<void>((resolve) => {
        this.#onEmpty = resolve
      })
    clearTimeout(timer)
    // Responses are created at this point, but not yet written to their sockets.
    await new Promise((resolve) => setTimeout(resolve, flushMs))
  }
}

const flushMs = 20
