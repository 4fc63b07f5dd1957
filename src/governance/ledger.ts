import type { Outcome } from '../capability/outcome.ts'
import type { AuditEntry } from './steps/record-audit.ts'

/** What governance remembers. What a promise here acknowledges survives a crash. */
export interface Ledger {
  readonly read: LedgerReader
  /**
   * All or nothing. Whatever is asked for at the same time shares one transaction and one flush to
   * the disk; work that throws is undone alone. Rejects with `LedgerError` when nothing can be
   * written.
   */
  write<T>(work: (writer: LedgerWriter) => T): Promise<T>
  /** Written soon, in the order of the calls; nobody waits for it, so it is made only then. */
  record(make: () => AuditEntry): void
  close(): Promise<void>
}

export interface LedgerReader {
  runByKey(caller: string, capability: string, key: string): Run | undefined
  /** The latest run with these very arguments, under any key or none. */
  runByDigest(caller: string, capability: string, digest: string): Run | undefined
  run(id: string): Run | undefined
  runs(state: Run['state'] | undefined, limit: number): Run[]
  spent(account: string, window: string): number
  approval(id: string): Approval | undefined
  /** The approval for exactly this that is good for longest; a used one where there is no other. */
  approvalFor(binding: string): Approval | undefined
  approvals(state: Approval['state'] | undefined, limit: number): Approval[]
  /** How many questions of a caller nobody has answered yet. */
  waiting(caller: string, now: number): number
}

export interface LedgerWriter extends LedgerReader {
  beginRun(run: NewRun): void
  endRun(id: string, end: RunEnd): void
  /** As if it had never begun. */
  forgetRun(id: string): void
  charge(account: string, window: string, amount: number): void
  addApproval(approval: Approval): void
  decideApproval(id: string, decision: ApprovalDecision): void
  append(entry: AuditEntry): void
}

/** One execution of something that has effects. */
export interface Run extends NewRun {
  /** `unknown`: it was begun, and nobody can say how it ended. */
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

/** A question to a human, and what became of it. */
export interface Approval {
  readonly id: string
  /** Digest of caller, capability, its fingerprint and the arguments: good for nothing else. */
  readonly binding: string
  readonly caller: string
  readonly capability: string
  readonly state: 'pending' | 'approved' | 'denied' | 'used'
  readonly created: number
  readonly expires: number
  readonly decidedBy?: string
  readonly decidedAt?: number
  /** Who may decide, as the rules said when it was asked. */
  readonly approvers?: 'others' | readonly string[]
  /** What the human sees. */
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

/** Nothing can be written or trusted: disk full, file damaged, file locked. */
export class LedgerError extends Error {
  override readonly name = 'LedgerError'
}
