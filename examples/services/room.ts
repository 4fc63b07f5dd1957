import { derive, type Service, type ServiceAction } from 'drawbridge-mcp'
import { createValue } from './value.ts'

interface Room {
  readonly lamp: boolean
  readonly temperature: number
  readonly target: number
}

/** A room: what can be done in it depends on what is true in it. */
export function createRoom(name: string) {
  const room = createValue<Room>({ lamp: false, temperature: 19, target: 19 })
  const change = (part: Partial<Room>) => room.set({ ...room.get(), ...part })

  const service: Service = {
    serviceName: name,
    states: derive(room.observe, ({ lamp, temperature }) => ({
      lamp: {
        schema: { type: 'boolean', title: 'Lamp', description: 'Whether it is on.' },
        value: lamp,
      },
      temperature: {
        schema: { type: 'number', title: 'Temperature', description: 'In °C.' },
        value: temperature,
      },
    })),
    actions: derive(
      room.observe,
      ({ lamp }): Record<string, ServiceAction> => ({
        ...(lamp
          ? {
              turn_off: {
                description: 'Turns the lamp off.',
                parameters: [],
                execute: () => change({ lamp: false }),
              },
            }
          : {
              turn_on: {
                description: 'Turns the lamp on.',
                parameters: [],
                execute: () => change({ lamp: true }),
              },
            }),
        heat: {
          description: 'Sets the temperature that the room is brought to, in °C.',
          parameters: [{ type: 'number', title: 'target', minimum: 5, maximum: 28 }],
          execute: (target: number) => {
            change({ target })
            return { target, now: room.get().temperature }
          },
        },
      }),
    ),
  }

  return {
    service,
    darken: () => change({ lamp: false }),
    /** A step towards where it should be. */
    drift: () => {
      const { temperature, target } = room.get()
      const step = Math.sign(target - temperature) * Math.min(0.5, Math.abs(target - temperature))
      if (step !== 0) change({ temperature: Math.round((temperature + step) * 10) / 10 })
    },
  }
}
