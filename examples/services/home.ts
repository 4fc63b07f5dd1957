import { derive, type Service, type ServiceAction } from 'drawbridge-mcp'
import { createRoom } from './room.ts'
import { createValue } from './value.ts'

/**
 * A small home: its clock advances, its rooms warm up, and the available actions follow the state.
 * Each room is a service of its own, linked to the home.
 */
export default function createHome(): Service {
  const rooms = new Map(['bedroom', 'kitchen'].map((name) => [name, createRoom(name)]))
  const links = createValue<Record<string, Service>>({})
  const showRooms = () =>
    links.set(Object.fromEntries([...rooms].map(([name, { service }]) => [name, service])))
  showRooms()

  const isOccupied = createValue(true)
  const minute = createValue(8 * 60, () => {
    const timer = setInterval(() => {
      minute.set((minute.get() + 1) % (24 * 60))
      for (const room of rooms.values()) room.drift()
    }, 1000)
    return () => clearInterval(timer)
  })

  const leaveHome: ServiceAction = {
    description:
      'Leaves the home and turns every lamp off. Afterwards return_home is the only action here.',
    schema: false,
  }
  const returnHome: ServiceAction = { description: 'Returns to the home.', schema: false }
  const addRoom: ServiceAction = {
    description: 'Adds a room. Its actions are then listed with its name as prefix.',
    schema: {
      type: 'object',
      properties: { name: { type: 'string', pattern: '^[a-z]{1,20}$' } },
      required: ['name'],
    },
  }

  const handlers: Record<string, (input: { name: string }) => string | undefined> = {
    leave_home: () => {
      for (const room of rooms.values()) room.darken()
      isOccupied.set(false)
      return undefined
    },
    return_home: () => {
      isOccupied.set(true)
      return undefined
    },
    add_room: ({ name }) => {
      if (rooms.has(name)) return `Room ${name} already exists.`
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
      isOccupied.observe,
      (isHome): Record<string, ServiceAction> =>
        isHome ? { leave_home: leaveHome, add_room: addRoom } : { return_home: returnHome },
    ),
    execute: async (action, input) => handlers[action]?.(input as { name: string }),
    links: links.observe,
  }
}
