import { createRequire } from 'node:module'
import { escapeHiddenAsJson } from '../../json/hidden-characters.ts'
import { UsageError } from './usage-error.ts'

type Log = (fields: object, message: string) => void

export interface Logger {
  readonly debug: Log
  readonly warn: Log
  readonly error: Log
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** Writes to standard error. Pino is loaded with the first entry: most commands log nothing. */
export function createLogger(): Logger {
  const level = process.env.LOG_LEVEL ?? 'info'
  if (!levels.includes(level))
    throw new UsageError(`LOG_LEVEL is "${level}" and must be one of ${levels.join(', ')}.`)
  let opened: Logger | undefined
  const toLog =
    (method: keyof Logger): Log =>
    (fields, message) => {
      if (levels.indexOf(method) < levels.indexOf(level)) return
      opened ??= openPino(level)
      opened[method](fields, message)
    }
  return { debug: toLog('debug'), warn: toLog('warn'), error: toLog('error') }
}

function openPino(level: string): Logger {
  const { pino } = createRequire(import.meta.url)('pino') as typeof import('pino')
  // A cause can contain text of an upstream server; a log is often read on a terminal.
  const hooks = { streamWrite: escapeHiddenAsJson }
  return pino({ level, base: null, hooks }, pino.destination(2))
}
