import pino, { type Logger } from 'pino'
import * as library from '../../index.ts'
import { escapeHiddenAsJson } from '../../json/hidden-characters.ts'
import {
  type OpenedDrawbridge,
  type OpenOptions,
  openDrawbridge,
} from '../../runtime/open-drawbridge.ts'
import { logErrors } from './log-errors.ts'
import { UsageError } from './usage-error.ts'

export function createLogger(): Logger {
  const level = process.env.LOG_LEVEL ?? 'info'
  const levels = [...Object.values(pino.levels.labels), 'silent']
  if (!levels.includes(level))
    throw new UsageError(`LOG_LEVEL is "${level}" and must be one of ${levels.join(', ')}.`)
  // A cause can contain text of an upstream server; a log is often read on a terminal.
  const hooks = { streamWrite: escapeHiddenAsJson }
  return pino({ level, base: null, hooks }, pino.destination(2))
}

export interface OpenFlags {
  readonly log?: Logger
  readonly fresh?: boolean
  readonly host?: string
  readonly store?: OpenOptions['store']
}

export function toOpenOptions(flags: OpenFlags): OpenOptions {
  const { log = createLogger(), store = 'create', ...rest } = flags
  return {
    ...rest,
    library,
    environment: process.env,
    store,
    onOperatorFailure: ({ id, capability, failure }) =>
      log.error({ call: id, capability, code: failure.code, cause: failure.cause }, 'call failed'),
    // Debug level: clients may send any number of malformed requests.
    onError: (error) => log.debug({ err: error }, 'transport'),
    onOperationalError: logErrors(log, Date.now),
  }
}

/** Opens a configuration with its store, to make calls. */
export const openBridge = (what: string, flags: OpenFlags = {}): Promise<OpenedDrawbridge> =>
  openDrawbridge(what, toOpenOptions(flags))

/** Opens a configuration to inspect it: creates no store file. */
export const openWithoutStore = (what: string): Promise<OpenedDrawbridge> =>
  openBridge(what, { store: 'none' })
