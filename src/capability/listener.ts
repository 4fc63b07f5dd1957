/** Receives progress and log entries of a running call. Must not throw. */
export interface Listener {
  /** Sends a progress notification to a client that asked for progress. */
  progress(update: Progress): void
  /** Sends a log message to a client that enabled logging at this level. */
  log(entry: LogEntry): void
}

/** How far a running call has come. */
export interface Progress {
  /** Units of work done so far. */
  readonly done: number
  /** Units of work altogether, when known. */
  readonly total?: number
  /** Describes the current work, for people. */
  readonly message?: string
}

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

/** A severity of RFC 5424; `debug` is the lowest, `emergency` the highest. */
export type LogLevel = (typeof logLevels)[number]

/** One log message of a running call. */
export interface LogEntry {
  /** Severity. */
  readonly level: LogLevel
  /** The message: text, or any JSON value. */
  readonly data: unknown
  /** Name of the logger that wrote it. */
  readonly logger?: string
}

export const silentListener: Listener = { progress: () => {}, log: () => {} }
