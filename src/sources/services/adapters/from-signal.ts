import type { Observe } from '../service.ts'

/** A signal with `subscribe`, such as those of `@preact/signals-core`. */
export interface Signal<T> {
  /** Calls `listener` with the current value and after every change. Returns an unsubscriber. */
  subscribe(listener: (value: T) => void): () => void
}

/**
 * Observes a signal. Signals emit their current value on subscription and may skip intermediate ones.
 *
 * @example
 * ```ts
 * import { signal } from '@preact/signals-core'
 * import { derive, fromSignal, type Service } from 'drawbridge-mcp'
 *
 * const count = signal(0)
 * export default {
 *   states: derive(fromSignal(count), (value) => ({ count: { value } })),
 * } satisfies Service
 * ```
 */
export const fromSignal =
  <T>(signal: Signal<T>): Observe<T> =>
  (notify) =>
    signal.subscribe(notify)
