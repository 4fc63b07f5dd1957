import type { Observe } from '../service.ts'

/** The contract of Redux, zustand and their like. */
export interface Store<State> {
  getState(): State
  subscribe(listener: () => void): () => void
}

/** Stores tell of changes only, so the state of now comes first. */
export const fromStore =
  <State>(store: Store<State>): Observe<State> =>
  (notify) => {
    notify(store.getState())
    return store.subscribe(() => notify(store.getState()))
  }
