import { isSameSubject } from './same-subject.ts'

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

/** The holder of the approver credential, where HTTP callers have no tokens and are the local user. */
export const operator: Caller = { subject: 'operator', scopes: new Set([approvalScope]) }

/** True for the subjects above: a token with one of them would let a caller decide its own calls. */
export const isReservedSubject = (subject: string): boolean =>
  [localUser, operator].some((builtIn) => isSameSubject(builtIn.subject, subject))
