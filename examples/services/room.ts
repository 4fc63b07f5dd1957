import { derive, type Service, type ServiceAction } from 'drawbridge-mcp'
import { createValue } from './value.ts'

interface Room {
  readonly lamp: boolean
  readonly temperature: number
  readonly target: number
}

/** A room whose available actions depend on its state. */
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
              turn_lamp_off: {
                description: 'Turns the lamp off.',
                parameters: [],
                execute: () => change({ lamp: false }),
              },
            }
          : {
              turn_lamp_on: {
                description: 'Turns the lamp on.',
                parameters: [],
                execute: () => change({ lamp: true }),
              },
            }),
        set_temperature: {
          description: 'Sets the target temperature of the room, in °C.',
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
    /** Moves the temperature one step towards the target. */
    drift: () => {
      const { temperature, target } = room.get()
      const step = Math.sign(target - temperature) * Math.min(0.5, Math.abs(target - temperature))
      if (step !== 0) change({ temperature: Math.round((temperature + step) * 10) / 10 })
    },
  }
}
