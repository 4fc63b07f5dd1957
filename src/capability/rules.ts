/** What governance enforces on every call of a capability. */
export interface Rules {
  /** Scopes the caller must hold, all of them. */
  readonly permissions: readonly string[]
  /** A human must say yes to these very arguments first. */
  readonly approval: boolean
  /** Who may say yes: anybody but the caller, or these. Whoever sits at the client where absent. */
  readonly approvers?: 'others' | readonly string[]
  /** A call must bring a key that makes it safe to repeat. */
  readonly idempotencyKey: boolean
  /** The same call again is meant: a button may be pressed twice. */
  readonly repeatsAreMeant?: boolean
  /** What one call is expected to cost. */
  readonly cost?: Cost
  readonly budgets: readonly Budget[]
  readonly rates: readonly Rate[]
  /** Milliseconds until the call is stopped; the operator's limit where absent. */
  readonly timeout?: number
  /** The audit keeps the arguments themselves, not only their digest. */
  readonly recordArguments?: boolean
}

/** An amount of money, or of anything else that is counted. */
export interface Cost {
  readonly amount: number
  readonly unit: string
}

/** How much may be spent, and who shares it. */
export interface Budget {
  /** The same for every capability that draws on it. */
  readonly id: string
  /** `calls`, or a currency. */
  readonly unit: string
  readonly limit: number
  readonly per: 'caller' | 'source' | 'capability'
  readonly window: 'call' | 'day' | 'month'
  /** In percent of the limit: where it is mentioned, where it must be agreed to, where it ends. */
  readonly thresholds: Thresholds
}

export interface Thresholds {
  readonly alert: number
  readonly reauthorise: number
  readonly stop: number
}

export const defaultThresholds: Thresholds = { alert: 80, reauthorise: 100, stop: 120 }

/** How often one caller may call, or all of them together where it is shared. */
export interface Rate {
  readonly id: string
  readonly shared?: boolean
  readonly calls: number
  readonly seconds: number
}

export const noRules: Rules = {
  permissions: [],
  approval: false,
  idempotencyKey: false,
  budgets: [],
  rates: [],
}
