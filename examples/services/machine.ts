import { fromMachine } from 'drawbridge-mcp'
import { assign, createActor, createMachine, getNextTransitions } from 'xstate'

/** An XState machine as a service: its events are actions, its guards decide which are offered. */
const door = createMachine({
  id: 'door',
  initial: 'closed',
  context: { opened: 0 },
  states: {
    closed: {
      on: {
        open: {
          target: 'opened',
          description: 'Opens the door.',
          actions: assign({ opened: ({ context }) => context.opened + 1 }),
        },
        lock: {
          target: 'locked',
          description: 'Locks the door. Possible once it has been opened.',
          guard: ({ context }) => context.opened > 0,
        },
      },
    },
    opened: { on: { close: { target: 'closed', description: 'Closes the door.' } } },
    locked: {
      on: { unlock: { target: 'closed', guard: ({ event }) => event.code === '1234' } },
    },
  },
})

export default fromMachine(createActor(door).start(), {
  transitions: getNextTransitions,
  events: {
    unlock: {
      description: 'Unlocks the door, with the right code.',
      schema: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
    },
  },
})
