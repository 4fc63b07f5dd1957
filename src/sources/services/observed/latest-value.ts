import type { Observe } from '../service.ts'

/**
 * The last thing an observable said. Its callback remembers and calls nobody who could fail: what it
 * threw would end up in the application.
 */
export class Latest<T> {
  value: T | undefined
  hasSpoken = false
  /** Whether it said something that nobody has looked at yet. */
  isNew = false
  /** Why it cannot be observed, if it cannot. */
  fault: string | undefined
  #stop: unknown
  #released = false

  constructor(observe: Observe<T>, changed: () => void) {
    try {
      this.#stop = observe((value) => {
        if (this.#released) return
        this.value = value
        this.hasSpoken = true
        this.isNew = true
        try {
          changed()
        } catch {
          // Nobody was told, but it is remembered for whoever looks next.
        }
      })
    } catch (error) {
      this.fault = toWords(error)
      this.isNew = true
    }
  }

  release(): void {
    this.#released = true
    this.isNew = false
    try {
      if (typeof this.#stop === 'function') this.#stop()
    } catch {
      // It has been asked to stop, and nobody listens any more.
    }
  }
}

const toWords = (error: unknown): string => (error instanceof Error ? error.message : String(error))
