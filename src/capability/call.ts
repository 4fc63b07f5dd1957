import type { Caller } from './caller.ts'
import type { Cancellation } from './cancellation.ts'
import type { Capability } from './capability.ts'
import type { Json } from './json.ts'
import type { Answer } from './question.ts'

/** One request to run one capability. Steps change it by passing a new one. */
export interface Call {
  readonly id: string
  readonly capability: Capability
  readonly caller: Caller
  /** As the client sent it; after the input step, as the capability's contract parsed it. */
  readonly input: unknown
  readonly cancellation: Cancellation
  /** What was answered to the questions of an earlier `asking` outcome of this call. */
  readonly answers: Readonly<Record<string, Answer>>
  /** What that earlier outcome asked to be remembered; already verified. */
  readonly state: Json | undefined
  /** What the other side can be asked, see `Question`. */
  readonly canAsk: ReadonlySet<string>
  /** Where to tell what happens meanwhile. */
  readonly listener: Listener
}

/** Hears of a call while it runs. Must not throw. */
export interface Listener {
  progress(progress: Progress): void
  log(entry: LogEntry): void
}

export interface Progress {
  readonly done: number
  readonly total?: number
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

export type LogLevel = (typeof logLevels)[number]

export interface LogEntry {
  readonly level: LogLevel
  readonly data: unknown
  readonly logger?: string
}

export const nobodyListens: Listener = { progress: () => {}, log: () => {} }
