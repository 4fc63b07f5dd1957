import type { Observe } from '../service.ts'

/**
 * The last thing an observable said. Its callback remembers and calls nobody who could fail: what it
 * threw would end up in the application.
 */
export class LatestValue<T> {
  value: T | undefined
  hasValue = false
  /** Whether it said something that nobody has looked at yet. */
  isUnread = false
  /** Why it cannot be observed, if it cannot. */
  fault: string | undefined
  #stop: unknown
  #released = false

  constructor(observe: Observe<T>, changed: () => void) {
    try {
      this.#stop = observe((value) => {
        if (this.#released) return
        this.value = value
        this.hasValue = true
        this.isUnread = true
        try {
          changed()
        } catch {
          // Nobody was told, but it is remembered for whoever looks next.
        }
      })
    } catch (error) {
      this.fault = toWords(error)
      this.isUnread = true
    }
  }

  release(): void {
    this.#released = true
    this.isUnread = false
    try {
      if (typeof this.#stop === 'function') this.#stop()
    } catch {
      // It has been asked to stop, and nobody listens any more.
    }
  }
}

const toWords = (error: unknown): string => (error instanceof Error ? error.message : String(error))
