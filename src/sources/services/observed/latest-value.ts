import type { Observe } from '../service.ts'

/**
 * The last value of an observable. The callback never throws: an exception would propagate into the
 * application that emitted the value.
 */
export class LatestValue<T> {
  value: T | undefined
  hasValue = false
  /** `true` from a new value or fault until it has been processed. */
  isUnread = false
  /** Set if subscribing threw. */
  fault: string | undefined
  #unsubscribe: unknown
  #isReleased = false

  constructor(observe: Observe<T>, onChange: () => void) {
    try {
      this.#unsubscribe = observe((value) => {
        if (this.#isReleased) return
        this.value = value
        this.hasValue = true
        this.isUnread = true
        try {
          onChange()
        } catch {
          // The value is stored and processed with the next read.
        }
      })
    } catch (error) {
      this.fault = toMessage(error)
      this.isUnread = true
    }
  }

  release(): void {
    this.#isReleased = true
    this.isUnread = false
    try {
      if (typeof this.#unsubscribe === 'function') this.#unsubscribe()
    } catch {
      // Values are ignored from now on, even if unsubscribing failed.
    }
  }
}

const toMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
