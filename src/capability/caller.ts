/** The identity a call is made for. Derived from a credential, never from what a client claims. */
export interface Caller {
  /** Stable id of the caller; audit entries, budgets and idempotency keys are kept per subject. */
  readonly subject: string
  /** Scopes that permissions are checked against. */
  readonly scopes: Scopes
  /** The records grant (package) whose token was presented; absent for every other credential. */
  readonly grantId?: string
}

/** The scopes the caller holds; `all` is reserved for the local user. */
export type Scopes = 'all' | ReadonlySet<string>

export const localUser: Caller = { subject: 'local', scopes: 'all' }

/** The scope that allows a caller to see and decide approvals. */
export const approvalScope = 'approvals:decide'
