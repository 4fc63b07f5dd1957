import type { Outcome } from '../capability/outcome.ts'
import type { Decision } from '../capability/plan.ts'
import type { Approvers } from '../capability/rules.ts'

/** The durable memory of governance. A write is on disk when its promise resolves. */
export interface Ledger {
  readonly read: LedgerReader
  readonly clock: Clock
  /**
   * Atomic. Group commit: concurrent writes share one transaction and one fsync; work that throws
   * is rolled back alone. Rejects with `StorageError` when the ledger cannot be written.
   */
  write<T>(work: (writer: LedgerWriter) => T): Promise<T>
  /**
   * Resolves when everything that was read before is on disk: reads also find what has just been committed, and a
   * power failure could undo it.
   */
  flushed(): Promise<void>
  /**
   * Queues an audit entry, in call order. Made lazily, when it is written; a text is an entry as JSON,
   * whose `at` is a date already.
   */
  record(make: () => AuditEntry | string): void
  close(): Promise<void>
}

/** The time that expiry, windows, purging and budgets use. */
export interface Clock {
  /** Ledger time, in epoch milliseconds. It never runs backwards and ignores changes of the wall clock. */
  readonly now: () => number
  /** Ledger time as a date: differs from `now` after an operator has confirmed another wall clock. */
  readonly calendarNow: () => number
  /** A ledger time as a date. */
  readonly toCalendar: (time: number) => number
  /** Why the present time is uncertain, with the next step; `undefined` when it is not. */
  readonly findDoubt: () => string | undefined
}

export interface LedgerReader {
  runByKey(caller: string, capability: string, key: string): Run | undefined
  /** The latest run with the same arguments, with any key or none. */
  runByDigest(caller: string, capability: string, digest: string): Run | undefined
  /** Whether `runByKey` or `runByDigest` finds one: a single query, because most calls are the first of their kind. */
  hasRun(caller: string, capability: string, key: string, digest: string): boolean
  run(id: string): Run | undefined
  runs(state: Run['state'] | undefined, limit: number): Run[]
  spent(account: string, window: string): number
  approval(id: string): Approval | undefined
  /** The approval with this binding that expires last; a used or expired one only if there is no other. */
  approvalFor(binding: string): Approval | undefined
  /** A pending or approved request for the same call that has another binding. */
  outdatedApproval(request: string, binding: string, now: number): Approval | undefined
  approvals(state: Approval['state'] | undefined, limit: number): Approval[]
  /** Approvals that can be decided: the latest of each caller first, so that none hides the others. */
  pendingApprovals(now: number, limit: number): Approval[]
  /** Number of a caller's pending approvals. */
  countPendingApprovals(caller: string, now: number): number
}

export interface LedgerWriter extends LedgerReader {
  beginRun(run: NewRun): void
  endRun(id: string, end: RunEnd): void
  /** Deletes a run that did not take effect. */
  forgetRun(id: string): void
  charge(account: string, window: string, amount: number): void
  addApproval(approval: Approval): void
  decideApproval(id: string, decision: ApprovalDecision): void
  append(entry: AuditEntry): void
}

/** One audit entry. Arguments only if `recordArguments` is set; never results or messages. */
export interface AuditEntry {
  /**
   * `begin` is committed before an effect, `end` follows every call; `asked` to `settled` concern
   * approvals and runs; `lost` counts entries that could not be written; `purged` counts old events
   * deleted from the execution log; `restored` and `repaired` start a new generation of the ledger;
   * `clock` reports that the wall clock was set, or confirmed by an operator.
   */
  readonly event:
    | 'begin'
    | 'end'
    | 'asked'
    | 'approved'
    | 'denied'
    | 'approval_void'
    | 'settled'
    | 'lost'
    | 'purged'
    | 'restored'
    | 'repaired'
    | 'clock'
  /** Milliseconds since the epoch, by the ledger's clock: it steps back only after a `clock` entry. */
  readonly at: number
  /** Id of the call or the approval. */
  readonly id?: string
  /** Subject of the caller. */
  readonly caller?: string
  /** Served name of the capability. */
  readonly capability?: string
  /** Id of its source. */
  readonly source?: string
  /** Fingerprint of its definition. */
  readonly fingerprint?: string
  /** SHA-256 of the arguments as canonical JSON (RFC 8785). */
  readonly digest?: string
  /** The arguments, if the rule `recordArguments` is set. */
  readonly arguments?: unknown
  /** Steps without an entry let the call pass. */
  readonly decisions?: readonly Decision[]
  /** Outcome of an `end`. */
  readonly outcome?: Outcome['kind']
  /** Failure code of a failed call. */
  readonly code?: string
  /** Duration in milliseconds. */
  readonly duration?: number
  /** Actual cost, in the unit of the capability's `cost` rule. */
  readonly cost?: number
  /** Person who approved, denied or settled. */
  readonly by?: string
  /** The parts that changed since the approval was requested, for `approval_void`. */
  readonly changed?: readonly string[]
  /** Number of `lost` entries, of `purged` events, or of rows that a repair could not save. */
  readonly count?: number
  /** `purged`: the first event that is left. */
  readonly first?: number
  /** `restored`, `repaired`: the generation that starts here. */
  readonly generation?: number
  /** `restored`, `repaired`: number of events in the execution log. */
  readonly executions?: number
  /** `restored`: time from which effects may be missing, in milliseconds since the epoch. */
  readonly from?: number
  /** Seconds by which the wall clock is ahead of the ledger's clock, in a `clock` entry. */
  readonly seconds?: number
}

/** One execution of a capability that is recorded in the ledger. */
export interface Run extends NewRun {
  /** `unknown`: the run was interrupted, and its outcome is not known. */
  readonly state: 'running' | 'done' | 'failed' | 'unknown'
  /** Its process is in another container or on another machine, and may have ended without a trace. */
  readonly isUnseen?: true
  readonly finished?: number
  readonly outcome?: Outcome
}

export interface NewRun {
  readonly id: string
  readonly caller: string
  readonly capability: string
  readonly key?: string
  readonly digest: string
  /** Fingerprint of the definition that ran; empty if it was recorded by an older version. */
  readonly fingerprint: string
  readonly started: number
  readonly charges: readonly Charge[]
}

export interface RunEnd {
  readonly state: 'done' | 'failed' | 'unknown'
  readonly finished: number
  readonly outcome?: Outcome
}

export interface Charge {
  readonly account: string
  readonly window: string
  readonly amount: number
}

/** A request for human approval, and its decision. Times are milliseconds since the epoch. */
export interface Approval {
  /** Id that `drawbridge approvals` and the HTTP route accept. */
  readonly id: string
  /** Digest of caller, arguments, definition, destination, code and policy: valid for exactly these. */
  readonly binding: string
  /** Digest of caller, address and arguments; empty if it was recorded by an older version. */
  readonly request: string
  /** Digests of the parts of the definition and of the policy, by name. */
  readonly covers: Readonly<Record<string, string>>
  /** Subject of the caller. */
  readonly caller: string
  /** Served name of the capability. */
  readonly capability: string
  /**
   * `used`: the approved call has run. `void`: what would run has changed since the request.
   * `expired`: it was refused as too old, and stays so.
   */
  readonly state: 'pending' | 'approved' | 'denied' | 'used' | 'void' | 'expired'
  /** Time of the request. */
  readonly created: number
  /** Time at which it can no longer be decided or used. */
  readonly expires: number
  /** Person who decided. */
  readonly decidedBy?: string
  /** Time of the decision. */
  readonly decidedAt?: number
  /** The capability's `approvers` rule at the time of the request. */
  readonly approvers?: Approvers
  /** Shown to the human who decides. */
  readonly shown: ApprovalView
}

/** Texts about a call, for the human who decides. */
export interface ApprovalView {
  /** Source and place of the declaration. */
  readonly source: string
  /** Description of the capability. */
  readonly description: string
  /** The arguments, as formatted JSON. */
  readonly arguments: string
  /** Side effects, in words. */
  readonly effects: string
  /** The endpoint that the call goes to, or the agents that may be asked. */
  readonly destination?: string
  /** Cost and balances of budgets, in words. */
  readonly cost?: string
}

export interface ApprovalDecision {
  readonly state: 'approved' | 'denied' | 'used' | 'void' | 'expired'
  readonly by?: string
  readonly at: number
}
