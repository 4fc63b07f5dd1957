/** Thrown when a computation takes too long. */
export class WorkExceeded extends Error {}

/** A computation that yields when other work of the event loop should run. */
export type Sliced<T> = Generator<void, T>

/**
 * Keeps computations from blocking the event loop. `run` throws WorkExceeded after a few milliseconds;
 * the caller then starts again with `runInSlices`, which lets the event loop continue between slices.
 * Steps are counted and the clock is read rarely, so that small inputs never pay for the clock.
 */
export class WorkLimit {
  /** Public, so that generated code can count without a call. */
  uncheckedSteps = 0
  /** A sliced computation yields as soon as it sees this. */
  isPauseDue = false
  #mode: 'idle' | 'whole' | 'slice' = 'idle'
  #startedAt: number | undefined
  readonly #waiting: Task[] = []

  /** Computes at once, or throws WorkExceeded. */
  run<T>(compute: () => T): T {
    this.#mode = 'whole'
    this.uncheckedSteps = 0
    this.#startedAt = undefined
    try {
      return compute()
    } finally {
      this.#mode = 'idle'
    }
  }

  /** Computes in slices. Rejects with WorkExceeded after two seconds of work. */
  runInSlices<T>(computation: Sliced<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ computation, resolve, reject, workedMs: 0 } as Task)
      if (this.#waiting.length === 1) setImmediate(this.#runNextSlice)
    })
  }

  spend(steps: number): void {
    this.uncheckedSteps += steps
    if (this.uncheckedSteps >= stepsBetweenChecks) this.check()
  }

  check(): void {
    this.uncheckedSteps = 0
    if (this.#mode === 'idle') return
    const now = performance.now()
    this.#startedAt ??= now
    if (now - this.#startedAt < (this.#mode === 'whole' ? wholeMs : sliceMs)) return
    if (this.#mode === 'whole') throw new WorkExceeded()
    this.isPauseDue = true
  }

  /** One slice per turn of the event loop, whatever the number of tasks: they take turns. */
  readonly #runNextSlice = (): void => {
    const task = this.#waiting[0] as Task
    const isSettled = this.#runSlice(task)
    this.#waiting.shift()
    if (!isSettled) this.#waiting.push(task)
    if (this.#waiting.length > 0) setImmediate(this.#runNextSlice)
  }

  #runSlice(task: Task): boolean {
    const startedAt = performance.now()
    this.#mode = 'slice'
    this.uncheckedSteps = 0
    this.isPauseDue = false
    this.#startedAt = startedAt
    try {
      const step = task.computation.next()
      if (step.done) task.resolve(step.value)
      task.workedMs += Math.min(performance.now() - startedAt, maxCountedMs)
      if (!step.done && task.workedMs > maxWorkedMs) throw new WorkExceeded()
      return step.done === true
    } catch (error) {
      task.reject(error)
      return true
    } finally {
      this.#mode = 'idle'
      this.isPauseDue = false
    }
  }
}

interface Task {
  readonly computation: Sliced<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  workedMs: number
}

/** Completes a computation at once: within `WorkLimit.run`, which never asks for a pause. */
export function runToEnd<T>(computation: Sliced<T>): T {
  let step = computation.next()
  while (!step.done) step = computation.next()
  return step.value
}

/** Well below 20: the first steps are not measured, and a garbage collection may follow. */
const wholeMs = 4
/** A request takes several turns of the event loop, and waits for a slice in each. */
const sliceMs = 1
/** The rest of a longer slice was garbage collection, or waiting for a core. */
const maxCountedMs = 5 * sliceMs
const maxWorkedMs = 2000
/** At most about half a millisecond. */
export const stepsBetweenChecks = 20_000
