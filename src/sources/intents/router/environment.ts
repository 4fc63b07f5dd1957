import { randomBytes } from 'node:crypto'
import type { ExecutionLog } from '../log/execution-log.ts'

/** Clock, randomness and log: injected, so that tests can replace them. */
export interface RouterEnvironment {
  /** Wall clock, in milliseconds since the epoch. */
  readonly now: () => number
  /** Monotonic clock, in milliseconds. */
  readonly steadyNow: () => number
  readonly randomBytes: (size: number) => Uint8Array
  /** Executions are not recorded without it. */
  readonly log?: ExecutionLog
  /** Receives errors that do not change a response. */
  readonly onOperationalError: (error: unknown) => void
}

/** The default. */
export const defaultEnvironment: RouterEnvironment = {
  now: Date.now,
  steadyNow: () => performance.now(),
  randomBytes,
  onOperationalError: () => {},
}
