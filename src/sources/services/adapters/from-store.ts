import type { Observe } from '../service.ts'

/** The store contract of Redux, zustand and similar libraries. */
export interface StateStore<State> {
  /** Returns the current state. */
  getState(): State
  /** Calls `listener` after every change. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void
}

/**
 * Observes a store. Stores only announce changes, so the current state is emitted first.
 *
 * @example
 * ```ts
 * import { derive, fromStore, type Service } from 'drawbridge-mcp'
 * import { createStore } from 'zustand/vanilla'
 *
 * const store = createStore(() => ({ bears: 0 }))
 * export default {
 *   states: derive(fromStore(store), ({ bears }) => ({ bears: { value: bears } })),
 * } satisfies Service
 * ```
 */
export const fromStore =
  <State>(store: StateStore<State>): Observe<State> =>
  (notify) => {
    notify(store.getState())
    return store.subscribe(() => notify(store.getState()))
  }
