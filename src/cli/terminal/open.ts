import pino, { type Logger } from 'pino'
import * as library from '../../index.ts'
import {
  type OpenedDrawbridge,
  type OpenOptions,
  openDrawbridge,
} from '../../runtime/open-drawbridge.ts'
import { reportDiagnostics } from './report-diagnostics.ts'

export const createLogger = (): Logger =>
  pino({ level: process.env.LOG_LEVEL ?? 'info', base: null }, pino.destination(2))

export interface OpenFlags {
  readonly log?: Logger
  readonly fresh?: boolean
  readonly host?: string
  readonly remembers?: OpenOptions['remembers']
}

export function toOpenOptions(flags: OpenFlags): OpenOptions {
  const { log = createLogger(), remembers = true, ...rest } = flags
  return {
    ...rest,
    library,
    environment: process.env,
    remembers,
    onFault: ({ id, capability, failure }) =>
      log.error({ call: id, capability, code: failure.code, cause: failure.cause }, 'out of order'),
    // Debug level: clients may send any number of malformed requests.
    onError: (error) => log.debug({ err: error }, 'transport'),
    onTrouble: reportDiagnostics(log, Date.now),
  }
}

/** For verbs that make calls. */
export const open = (what: string, flags: OpenFlags = {}): Promise<OpenedDrawbridge> =>
  openDrawbridge(what, toOpenOptions(flags))

/** For verbs that only inspect: creates no store file. */
export const openWithoutStore = (what: string): Promise<OpenedDrawbridge> =>
  open(what, { remembers: false })
