/** Constraints that governance enforces on every call of a capability. */
export interface Rules {
  /** Scopes the caller must hold, all of them. */
  readonly permissions: readonly string[]
  /** A human must approve each call, with exactly its arguments, before it runs. */
  readonly approval: boolean
  /** Absent: the person at the client; elsewhere any approver but the caller. */
  readonly approvers?: Approvers
  /** Calls without an idempotency key are refused. */
  readonly idempotencyKey: boolean
  /** Turns off duplicate detection: identical calls are intended, like a button pressed twice. */
  readonly repeatsAreMeant?: boolean
  /** The expected cost of one call. */
  readonly cost?: Cost
  /** Spending limits; a call must stay within all of them. */
  readonly budgets: readonly Budget[]
  /** Rate limits; a call must stay within all of them. */
  readonly rates: readonly Rate[]
  /** Time limit in milliseconds; the operator's default when absent. */
  readonly timeout?: number
  /** Store the arguments themselves in the audit, not only their digest. */
  readonly recordArguments?: boolean
}

/**
 * The subjects who may decide about a call. `others`: any approver but the caller, so the caller's client
 * shows no form. `self`: the caller too, at its client or elsewhere. A list: these, but never the caller.
 */
export type Approvers = 'self' | 'others' | readonly string[]

/** An amount of money, or of any other countable unit. */
export interface Cost {
  /** The amount, in `unit`. */
  readonly amount: number
  /** A currency, or any name that budgets refer to. */
  readonly unit: string
}

/** A spending limit, and who shares it. */
export interface Budget {
  /** Equal for all capabilities that draw on the same budget. */
  readonly id: string
  /** `calls`, or a currency. */
  readonly unit: string
  /** The limit for one window, in `unit`. */
  readonly limit: number
  /** One account for each caller, source or capability. */
  readonly per: 'caller' | 'source' | 'capability'
  /** The period that the limit applies to. Days and months are UTC. */
  readonly window: 'call' | 'day' | 'month'
  /** When to warn, ask and refuse. */
  readonly thresholds: Thresholds
}

/** Percentages of a budget's limit. */
export interface Thresholds {
  /** Results carry a notice from this percentage on. */
  readonly alert: number
  /** Above this, a human must approve. */
  readonly reauthorise: number
  /** Above this, calls are refused. */
  readonly stop: number
  /** A call that reaches `reauthorise` or `stop` exactly counts as above it. Default: `false`. */
  readonly inclusive?: boolean
}

export const defaultThresholds: Thresholds = { alert: 80, reauthorise: 100, stop: 120 }

/** A rate limit per caller, or for all callers together when shared. */
export interface Rate {
  /** Equal for all capabilities that share the limit. */
  readonly id: string
  /** One bucket for all callers together. Default: one for each caller. */
  readonly shared?: boolean
  /** Calls allowed per `seconds`, also the size of a burst. */
  readonly calls: number
  /** Length of the period, in seconds. */
  readonly seconds: number
}

/** No constraints; spread it to set single ones: `{ ...noRules, approval: true }`. */
export const noRules: Rules = {
  permissions: [],
  approval: false,
  idempotencyKey: false,
  budgets: [],
  rates: [],
}
