import type { Caller } from './caller.ts'
import type { Cancellation } from './cancellation.ts'
import type { Capability, View } from './capability.ts'
import type { Json, JsonObject } from './json.ts'
import type { Outcome } from './outcome.ts'
import type { Answer } from './question.ts'

/** One request to run one capability. Steps change it by passing a new one. */
export interface Call {
  readonly id: string
  readonly capability: Capability
  /** Where clients find it: what is remembered of it is remembered for this place alone. */
  readonly address: string
  /** Of the definition that was found when the call came in. */
  readonly fingerprint: string
  readonly caller: Caller
  /** As the client sent it; after the input step, as the capability's contract parsed it. */
  readonly input: unknown
  /** As the client meant it: what was sent, less the key. */
  readonly given: unknown
  readonly cancellation: Cancellation
  /** What was answered to the questions of an earlier `asking` outcome of this call. */
  readonly answers: Readonly<Record<string, Answer>>
  /** What that earlier outcome asked to be remembered; already verified. */
  readonly state: Json | undefined
  /** What the other side can be asked, see `Question`. */
  readonly canAsk: ReadonlySet<string>
  /** What the client wants to be able to repeat this under. */
  readonly key: string | undefined
  /** The same from the transport: counts when nothing nearer says one. */
  readonly transportKey: string | undefined
  /** The fingerprint the client believes in. */
  readonly expects: string | undefined
  /** What its caller could use besides. */
  readonly reach: Reach
  /** Where to tell what happens meanwhile. */
  readonly listener: Listener
  /** As W3C Trace Context writes it, where the client sent one. */
  readonly traceparent: string | undefined
  /** Runs another capability of the same source, for the same caller, through the same pipeline. */
  readonly run: RunInner
  /** What became of it on its way, for the audit. The one thing here that steps write to. */
  readonly trail: Trail
  /** What has to be written down before it may take effect. */
  readonly plan: Plan
}

/** Shared by all calls, so that making one costs nothing: the outer call is handed in. */
export type RunInner = (outer: Call, name: string, inner: InnerCall) => Promise<Outcome>

export interface InnerCall {
  /** Tells it from others within the same call. */
  readonly step: string
  readonly input: unknown
  readonly answers?: Call['answers']
  readonly state?: Json
}

/** What is listed for a caller at the moment it is asked for, under the names it is served by. */
export interface Reach {
  capabilities(): readonly Capability[]
  views(): readonly View[]
}

export const noReach: Reach = { capabilities: () => [], views: () => [] }

export interface Trail {
  readonly decisions: Decision[]
  /** Of the arguments, as RFC 8785 writes them, once somebody needed it. */
  digest?: string
  cost?: number
}

/** One step's word that is worth remembering. */
export interface Decision {
  readonly step: string
  readonly decision: 'refused' | 'asked' | 'allowed' | 'would_refuse' | 'would_ask'
  readonly code?: string
  readonly note?: string
}

/** Gathered by the steps, committed at once by the one that begins the effect. */
export interface Plan {
  readonly charges?: readonly PlannedCharge[]
  /** The approval this call uses up. */
  readonly approval?: string
  /** Why a budget wants an approval, where one does. */
  readonly reauthorise?: string
  /** Where every budget it draws on would stand. */
  readonly standings?: readonly string[]
  /** Told with the result. */
  readonly notices?: readonly Notice[]
}

export interface PlannedCharge {
  readonly account: string
  readonly window: string
  readonly amount: number
  readonly unit: string
  /** What the account may hold after it. */
  readonly ceiling: number
}

/** Something the reader of a result should know besides. */
export interface Notice {
  readonly about: 'budget' | 'replayed' | 'route'
  readonly text: string
  readonly data: JsonObject
}

export const emptyPlan: Plan = Object.freeze({})

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

export const silentListener: Listener = { progress: () => {}, log: () => {} }
