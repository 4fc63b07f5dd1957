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

export function toOpenOptions(log: Logger, fresh = false): OpenOptions {
  return {
    fresh,
    library,
    environment: process.env,
    onFault: ({ id, capability, failure }) =>
      log.error(
        { call: id, capability, code: failure?.code, cause: failure?.cause },
        'out of order',
      ),
    onError: (error) => log.warn({ err: error }, 'transport'),
  }
}

export const open = (what: string, log: Logger = createLogger(), fresh = false): Promise<Opened> =>
  openDrawbridge(what, toOpenOptions(log, fresh))
