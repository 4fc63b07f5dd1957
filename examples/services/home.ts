import { derive, type Service, type ServiceAction } from 'drawbridge-mcp'
import { createRoom } from './room.ts'
import { createValue } from './value.ts'

/**
 * A small home that lives by itself: a clock that goes on, rooms that warm up, and actions that come
 * and go with what is true. Its rooms are services of their own, linked to it.
 */
export default function createHome(): Service {
  const rooms = new Map(['bedroom', 'kitchen'].map((name) => [name, createRoom(name)]))
  const links = createValue<Record<string, Service>>({})
  const showRooms = () =>
    links.set(Object.fromEntries([...rooms].map(([name, { service }]) => [name, service])))
  showRooms()

  const somebodyIsIn = createValue(true)
  const minute = createValue(8 * 60, () => {
    const heart = setInterval(() => {
      minute.set((minute.get() + 1) % (24 * 60))
      for (const room of rooms.values()) room.drift()
    }, 1000)
    return () => clearInterval(heart)
  })

  const leave: ServiceAction = {
    description:
      'Leaves the home: every lamp goes out. Afterwards only come_back is possible here.',
    schema: false,
  }
  const comeBack: ServiceAction = { description: 'Comes back home.', schema: false }
  const addRoom: ServiceAction = {
    description: 'Adds a room. Its actions appear under its name.',
    schema: {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^[a-z]{1,20}$' } },
      required: ['name'],
    },
  }

  const can: Record<string, (input: { name: string }) => string | undefined> = {
    leave: () => {
      for (const room of rooms.values()) room.darken()
      somebodyIsIn.set(false)
      return undefined
    },
    come_back: () => {
      somebodyIsIn.set(true)
      return undefined
    },
    add_room: ({ name }) => {
      if (rooms.has(name)) return `There is a ${name} already.`
      rooms.set(name, createRoom(name))
      showRooms()
      return undefined
    },
  }

  return {
    serviceName: 'home',
    states: derive(minute.observe, (now) => ({
      clock: {
        schema: { type: 'string', title: 'Clock', description: 'The time in the home.' },
        value: new Date(now * 60_000).toISOString().slice(11, 16),
      },
    })),
    actions: derive(
      somebodyIsIn.observe,
      (isIn): Record<string, ServiceAction> =>
        isIn ? { leave, add_room: addRoom } : { come_back: comeBack },
    ),
    execute: async (action, input) => can[action]?.(input as { name: string }),
    links: links.observe,
  }
}
