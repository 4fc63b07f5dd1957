/** Receives progress and log entries of a running call. Must not throw. */
export interface Listener {
  progress(update: Progress): void
  log(entry: LogEntry): void
}

export interface Progress {
  /** Units of work done so far. */
  readonly done: number
  /** Units of work altogether, when known. */
  readonly total?: number
  readonly message?: string
}

/** The severities of RFC 5424, lowest first. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

export type LogLevel = (typeof logLevels)[number]

export interface LogEntry {
  readonly level: LogLevel
  readonly data: unknown
  /** Name of the logger that wrote it. */
  readonly logger?: string
}

export const silentListener: Listener = { progress: () => {}, log: () => {} }
