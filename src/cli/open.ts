import pino, { type Logger } from 'pino'
import * as library from '../index.ts'
import { type Opened, type OpenOptions, openDrawbridge } from '../runtime/open-drawbridge.ts'

export const whatArgument = {
  type: 'positional',
  required: false,
  default: '.',
  description: 'a drawbridge.yaml, its folder, or a module of tool definitions',
} as const

export const jsonFlag = { type: 'boolean', description: 'machine-readable output' } as const

export const createLogger = (): Logger =>
  pino({ level: process.env.LOG_LEVEL ?? 'info', base: null }, pino.destination(2))

export interface Wishes {
  readonly log?: Logger
  readonly fresh?: boolean
  readonly host?: string
}

export function toOpenOptions({ log = createLogger(), ...wishes }: Wishes): OpenOptions {
  return {
    ...wishes,
    library,
    environment: process.env,
    onFault: ({ id, capability, failure }) =>
      log.error(
        { call: id, capability, code: failure?.code, cause: failure?.cause },
        'out of order',
      ),
    // What a client sends wrong is its own affair, and there may be much of it.
    onError: (error) => log.debug({ err: error }, 'transport'),
  }
}

export const open = (what: string, wishes: Wishes = {}): Promise<Opened> =>
  openDrawbridge(what, toOpenOptions(wishes))
