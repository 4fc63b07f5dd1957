import type { Decision } from '../capability/call.ts'
import type { Outcome } from '../capability/outcome.ts'

/** The durable memory of governance. A write is on disk when its promise resolves. */
export interface Ledger {
  readonly read: LedgerReader
  /**
   * Atomic. Group commit: concurrent writes share one transaction and one fsync; work that throws
   * is rolled back alone. Rejects with `StorageError` when the ledger cannot be written.
   */
  write<T>(work: (writer: LedgerWriter) => T): Promise<T>
  /** Queues an audit entry, in call order. Built lazily, when it is written. */
  record(make: () => AuditEntry): void
  close(): Promise<void>
}

export interface LedgerReader {
  runByKey(caller: string, capability: string, key: string): Run | undefined
  /** The latest run with the same arguments, with any key or none. */
  runByDigest(caller: string, capability: string, digest: string): Run | undefined
  run(id: string): Run | undefined
  runs(state: Run['state'] | undefined, limit: number): Run[]
  spent(account: string, window: string): number
  approval(id: string): Approval | undefined
  /** The approval with this binding that expires last; a used one only if there is no other. */
  approvalFor(binding: string): Approval | undefined
  approvals(state: Approval['state'] | undefined, limit: number): Approval[]
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
   * approvals and runs; `lost` counts entries that could not be written.
   */
  readonly event: 'begin' | 'end' | 'asked' | 'approved' | 'denied' | 'settled' | 'lost'
  readonly at: number
  /** Id of the call or the approval. */
  readonly id?: string
  readonly caller?: string
  readonly capability?: string
  readonly source?: string
  readonly fingerprint?: string
  readonly digest?: string
  readonly arguments?: unknown
  /** Steps without an entry let the call pass. */
  readonly decisions?: readonly Decision[]
  readonly outcome?: Outcome['kind']
  readonly code?: string
  readonly duration?: number
  readonly cost?: number
  readonly by?: string
  readonly count?: number
}

/** One execution of a capability that is recorded in the ledger. */
export interface Run extends NewRun {
  /** `unknown`: the run was interrupted, and its outcome is not known. */
  readonly state: 'running' | 'done' | 'failed' | 'unknown'
  readonly finished?: number
  readonly outcome?: Outcome
}

export interface NewRun {
  readonly id: string
  readonly caller: string
  readonly capability: string
  readonly key?: string
  readonly digest: string
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

/** A request for human approval, and its decision. */
export interface Approval {
  readonly id: string
  /** Digest of caller, capability, fingerprint and arguments: valid for this combination only. */
  readonly binding: string
  readonly caller: string
  readonly capability: string
  readonly state: 'pending' | 'approved' | 'denied' | 'used'
  readonly created: number
  readonly expires: number
  readonly decidedBy?: string
  readonly decidedAt?: number
  /** The capability's `approvers` rule at the time of the request. */
  readonly approvers?: 'others' | readonly string[]
  /** Shown to the human who decides. */
  readonly shown: ApprovalView
}

export interface ApprovalView {
  readonly source: string
  readonly description: string
  readonly arguments: string
  readonly effects: string
  readonly cost?: string
}

export interface ApprovalDecision {
  readonly state: 'approved' | 'denied' | 'used'
  readonly by?: string
  readonly at: number
}
