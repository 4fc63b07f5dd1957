import type { Observe } from '../service.ts'

/** RxJS, the TC39 proposal, and whatever else takes a callback and says how to stop. */
export interface Subscribable<T> {
  subscribe(next: (value: T) => void): (() => void) | { unsubscribe(): void }
}

/** Give an initial value to what may never emit: until then nothing beside it can be served. */
export const fromObservable =
  <T>(source: Subscribable<T>, ...initial: readonly [] | readonly [T]): Observe<T> =>
  (notify) => {
    let isSilent = true
    const subscription = source.subscribe((value) => {
      isSilent = false
      notify(value)
    })
    if (isSilent && initial.length === 1) notify(initial[0])
    return () => (typeof subscription === 'function' ? subscription() : subscription.unsubscribe())
  }
