import type { Observe } from '../service.ts'

/** A signal that can be subscribed to, such as those of `@preact/signals-core`. */
export interface Signal<T> {
  subscribe(listener: (value: T) => void): () => void
}

/** Signals say their value at once, and skip what lies between two. */
export const fromSignal =
  <T>(signal: Signal<T>): Observe<T> =>
  (notify) =>
    signal.subscribe(notify)
