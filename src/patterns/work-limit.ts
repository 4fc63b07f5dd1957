/** Thrown when an input would occupy the event loop for too long. */
export class WorkExceeded extends Error {}

/**
 * Stops a synchronous computation before it has occupied the event loop for 20 ms. Steps are counted
 * and the clock is read rarely, so that small inputs never depend on the speed of the machine.
 */
export class WorkLimit {
  /** Public, so that generated code can count without a call. */
  uncheckedSteps = 0
  #checkedAt: number | undefined
  #workedMs = 0
  #isRunning = false

  run<T>(compute: () => T): T {
    this.uncheckedSteps = 0
    this.#checkedAt = undefined
    this.#workedMs = 0
    this.#isRunning = true
    try {
      return compute()
    } finally {
      this.#isRunning = false
    }
  }

  spend(steps: number): void {
    this.uncheckedSteps += steps
    if (this.uncheckedSteps >= stepsBetweenChecks) this.check()
  }

  check(): void {
    this.uncheckedSteps = 0
    if (!this.#isRunning) return
    const now = performance.now()
    this.#workedMs += Math.min(now - (this.#checkedAt ?? now), maxGapMs)
    this.#checkedAt = now
    if (this.#workedMs > maxMs) throw new WorkExceeded()
  }
}

/** Below 20, because the first steps and the last are not measured. */
const maxMs = 12
/** Longer gaps are garbage collection, or waiting for a core: these alone must not fail a call. */
const maxGapMs = 4
/** At most about half a millisecond. */
export const stepsBetweenChecks = 20_000
