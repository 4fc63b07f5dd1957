import type { Call } from '../capability/call.ts'
import type { Outcome } from '../capability/outcome.ts'

/** The calls that are under way, so that a stop can wait for them. */
export class InFlight {
  readonly #calls = new Set<Call>()
  #emptied: (() => void) | undefined

  watch(call: Call, govern: (call: Call) => Promise<Outcome>): Promise<Outcome> {
    this.#calls.add(call)
    const outcome = govern(call)
    const leave = () => {
      this.#calls.delete(call)
      if (this.#calls.size === 0) this.#emptied?.()
    }
    outcome.then(leave, leave)
    return outcome
  }

  /** Waits for them, and ends those that take too long: they are answered that they were. */
  async settle(patience: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const { cancellation } of this.#calls) cancellation.cancel('The server stops.')
    }, patience)
    if (this.#calls.size > 0)
      await new Promise<void>((resolve) => {
        this.#emptied = resolve
      })
    clearTimeout(timer)
    // Their answers are made, but not yet written.
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
