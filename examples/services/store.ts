import { derive, fromStore, type Service } from 'drawbridge-mcp'
import { createStore } from 'zustand/vanilla'

/** A store as a service. Redux and all others with `getState` and `subscribe` work the same way. */
const store = createStore(() => ({ bears: 0 }))
const add = (bears: number) => store.setState((state) => ({ bears: state.bears + bears }))
const state = fromStore(store)

export default {
  states: derive(state, ({ bears }) => ({ bears: { schema: { type: 'integer' }, value: bears } })),
  actions: derive(state, ({ bears }) => ({
    add_bear: { description: 'Adds a bear.', parameters: [], execute: () => add(1) },
    ...(bears > 0 && {
      remove_bear: { description: 'Removes a bear.', parameters: [], execute: () => add(-1) },
    }),
  })),
} satisfies Service
