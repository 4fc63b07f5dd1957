import type { Listener, LogEntry, LogLevel, Progress } from '../capability/listener.ts'
import { logLevels } from '../capability/listener.ts'
import { dropUndefined } from '../json/drop-undefined.ts'
import type { Outlet } from './engine.ts'

/** The lowest level of log entries that a client wants: none when absent. */
export interface LogThreshold {
  readonly level?: LogLevel | undefined
}

/** Sends progress and log entries of a running call to its client. */
export class RequestListener implements Listener {
  readonly #outlet: Pick<Outlet, 'send'>
  readonly #progressToken: unknown
  readonly #threshold: LogThreshold

  constructor(outlet: Pick<Outlet, 'send'>, progressToken: unknown, threshold: LogThreshold) {
    this.#outlet = outlet
    this.#progressToken = progressToken
    this.#threshold = threshold
  }

  progress({ done, total, message }: Progress): void {
    const progressToken = this.#progressToken
    if (progressToken === undefined) return
    const params = dropUndefined({ progressToken, progress: done, total, message })
    this.#outlet.send({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }

  log({ level, data, logger }: LogEntry): void {
    const threshold = this.#threshold.level
    if (threshold === undefined || isBelow(level, threshold)) return
    const params = dropUndefined({ level, data, logger })
    this.#outlet.send({ jsonrpc: '2.0', method: 'notifications/message', params })
  }
}

const isBelow = (level: LogLevel, threshold: LogLevel): boolean =>
  logLevels.indexOf(level) < logLevels.indexOf(threshold)
