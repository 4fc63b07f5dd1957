import { randomBytes } from 'node:crypto'
import type { ExecutionLog } from '../log/execution-log.ts'

/** What the agents' runtime needs from outside. */
export interface Host {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** The same, but nobody can set it. */
  readonly steadyNow: () => number
  readonly randomBytes: (size: number) => Uint8Array
  /** Without one, nothing is written down. */
  readonly log?: ExecutionLog
  /** Hears of what went wrong beside an answer. */
  readonly onTrouble: (error: unknown) => void
}

/** The real one, for as long as nobody says another. */
export const thisHost: Host = {
  now: Date.now,
  steadyNow: () => performance.now(),
  randomBytes,
  onTrouble: () => {},
}
