import type { Observe } from '../service.ts'

/** The `subscribe` of RxJS, of the TC39 Observable proposal, and of similar libraries. */
export interface Subscribable<T> {
  /** Calls `next` with every value. Returns an unsubscriber, as a function or as a subscription. */
  subscribe(next: (value: T) => void): (() => void) | { unsubscribe(): void }
}

/**
 * Adapts an RxJS-style observable. Pass an initial value if it does not emit on subscription: a service is
 * pending until each of its observables has emitted once.
 *
 * @example
 * ```ts
 * import { derive, fromObservable, type Service } from 'drawbridge-mcp'
 * import { interval } from 'rxjs'
 *
 * const ticks = fromObservable(interval(1000), -1)
 * export default {
 *   states: derive(ticks, (tick) => ({ seconds: { value: tick + 1 } })),
 * } satisfies Service
 * ```
 */
export const fromObservable =
  <T>(source: Subscribable<T>, ...initial: readonly [] | readonly [T]): Observe<T> =>
  (notify) => {
    let hasEmitted = false
    const subscription = source.subscribe((value) => {
      hasEmitted = true
      notify(value)
    })
    if (!hasEmitted && initial.length === 1) notify(initial[0])
    return () => (typeof subscription === 'function' ? subscription() : subscription.unsubscribe())
  }
