import { signal } from '@preact/signals-core'
import { derive, fromSignal, type Service } from 'drawbridge-mcp'

/** Signals as a service. */
const count = signal(0)

export default {
  states: derive(fromSignal(count), (value) => ({ count: { schema: { type: 'integer' }, value } })),
  actions: derive(fromSignal(count), (value) => ({
    ...(value < 3 && {
      increase: {
        description: 'Counts one up, to three.',
        parameters: [],
        execute: () => {
          count.value++
        },
      },
    }),
  })),
} satisfies Service
