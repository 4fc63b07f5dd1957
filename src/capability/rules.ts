/** What governance enforces on every call of a capability. */
export interface Rules {
  /** Scopes the caller must hold, all of them. */
  readonly permissions: readonly string[]
  /** A human must say yes to these very arguments first. */
  readonly approval: boolean
  /** A call must bring a key that makes it safe to repeat. */
  readonly idempotencyKey: boolean
  /** Milliseconds until the call is stopped; the operator's limit where absent. */
  readonly timeout?: number
}

export const noRules: Rules = { permissions: [], approval: false, idempotencyKey: false }
