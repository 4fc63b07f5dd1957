import type { Outcome } from '../../capability/outcome.ts'
import type {
  Approval,
  ApprovalDecision,
  Charge,
  LedgerWriter,
  NewRun,
  Run,
  RunEnd,
} from '../../governance/ledger.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import type { ProcessRegistry } from './process-registry.ts'

interface RunRow {
  readonly id: string
  readonly boot: string
  readonly caller: string
  readonly capability: string
  readonly key: string | null
  readonly digest: string
  readonly fingerprint: string
  readonly state: Run['state']
  readonly started: number
  readonly finished: number | null
  readonly charges: string
  readonly outcome: string | null
}

interface ApprovalRow {
  readonly id: string
  readonly binding: string
  readonly request: string
  readonly covers: string
  readonly caller: string
  readonly capability: string
  readonly state: Approval['state']
  readonly created: number
  readonly expires: number
  readonly decided_by: string | null
  readonly decided_at: number | null
  readonly approvers: string | null
  readonly shown: string
}

/** Runs, spending and approvals. */
export class LedgerTables implements LedgerWriter {
  readonly append: LedgerWriter['append']
  readonly #database: Sqlite
  readonly #processes: ProcessRegistry

  constructor(database: Sqlite, processes: ProcessRegistry, append: LedgerWriter['append']) {
    this.#database = database
    this.#processes = processes
    this.append = append
  }

  runByKey(caller: string, capability: string, key: string): Run | undefined {
    const row = this.#database
      .prepare<RunRow>(
        `select * from runs where caller = ? and capability = ? and key = ?
         order by started desc limit 1`,
      )
      .get(caller, capability, key)
    return row && this.#toRun(row)
  }

  runByDigest(caller: string, capability: string, digest: string): Run | undefined {
    const row = this.#database
      .prepare<RunRow>(
        `select * from runs
         where caller = ? and capability = ? and digest = ? and state != 'failed'
         order by started desc limit 1`,
      )
      .get(caller, capability, digest)
    return row && this.#toRun(row)
  }

  run(id: string): Run | undefined {
    const row = this.#database.prepare<RunRow>('select * from runs where id = ?').get(id)
    return row && this.#toRun(row)
  }

  runs(state: Run['state'] | undefined, limit: number): Run[] {
    return this.#runRows(state, limit)
      .map((row) => this.#toRun(row))
      .filter((run) => !state || run.state === state)
      .slice(0, limit)
  }

  #runRows(state: Run['state'] | undefined, limit: number): RunRow[] {
    const select = 'select * from runs'
    const latest = 'order by started desc'
    switch (state) {
      case undefined:
        return this.#database.prepare<RunRow>(`${select} ${latest} limit ?`).all(limit)
      case 'done':
      case 'failed':
        return this.#database
          .prepare<RunRow>(`${select} where state = ? ${latest} limit ?`)
          .all(state, limit)
      case 'running':
      case 'unknown':
        // Filtered by the caller: whether a run is orphaned depends on which processes are alive.
        return this.#database
          .prepare<RunRow>(`${select} where state in ('running', 'unknown') ${latest}`)
          .all()
    }
  }

  beginRun(run: NewRun): void {
    const { id, caller, capability, key, digest, fingerprint, started, charges } = run
    this.#database
      .prepare(
        `insert into runs
           (id, boot, caller, capability, key, digest, fingerprint, state, started, charges)
         values (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)`,
      )
      .run(
        id,
        this.#processes.ownId,
        caller,
        capability,
        key ?? null,
        digest,
        fingerprint,
        started,
        JSON.stringify(charges),
      )
  }

  endRun(id: string, { state, finished, outcome }: RunEnd): void {
    this.#database
      .prepare('update runs set state = ?, finished = ?, outcome = ? where id = ?')
      .run(state, finished, outcome === undefined ? null : JSON.stringify(outcome), id)
  }

  forgetRun(id: string): void {
    this.#database.prepare('delete from runs where id = ?').run(id)
  }

  spent(account: string, window: string): number {
    return (
      this.#database
        .prepare<{ spent: number }>('select spent from spending where account = ? and window = ?')
        .get(account, window)?.spent ?? 0
    )
  }

  charge(account: string, window: string, amount: number): void {
    this.#database
      .prepare(
        `insert into spending (account, window, spent) values (?, ?, max(0, ?))
         on conflict do update set spent = max(0, spent + ?)`,
      )
      .run(account, window, amount, amount)
  }

  approval(id: string): Approval | undefined {
    const row = this.#database.prepare<ApprovalRow>('select * from approvals where id = ?').get(id)
    return row && toApproval(row)
  }

  approvalFor(binding: string): Approval | undefined {
    const row = this.#database
      .prepare<ApprovalRow>(
        // Sorted by expiry, not by creation: a clock set back must not hide an approval that is still valid.
        `select * from approvals where binding = ?
         order by state in ('used', 'expired'), expires desc limit 1`,
      )
      .get(binding)
    return row && toApproval(row)
  }

  outdatedApproval(request: string, binding: string, now: number): Approval | undefined {
    const row = this.#database
      .prepare<ApprovalRow>(
        `select * from approvals where request = ? and binding != ?
         and state in ('pending', 'approved') and expires > ?
         order by state = 'pending', created desc limit 1`,
      )
      .get(request, binding, now)
    return row && toApproval(row)
  }

  approvals(state: Approval['state'] | undefined, limit: number): Approval[] {
    const rows = state
      ? this.#database
          .prepare<ApprovalRow>(
            'select * from approvals where state = ? order by created desc limit ?',
          )
          .all(state, limit)
      : this.#database
          .prepare<ApprovalRow>('select * from approvals order by created desc limit ?')
          .all(limit)
    return rows.map(toApproval)
  }

  pendingApprovals(now: number, limit: number): Approval[] {
    // The subquery reads only the index approvals_waiting.
    return this.#database
      .prepare<ApprovalRow>(
        `select approvals.* from (
           select id, expires, row_number() over (partition by caller order by expires desc) as place
           from approvals where state = 'pending' and expires > ?
         ) as waiting
         join approvals on approvals.id = waiting.id
         order by waiting.place, waiting.expires desc limit ?`,
      )
      .all(now, limit)
      .map(toApproval)
  }

  countPendingApprovals(caller: string, now: number): number {
    const row = this.#database
      .prepare<{ pending: number }>(
        `select count(*) as pending from approvals
         where caller = ? and state = 'pending' and expires > ?`,
      )
      .get(caller, now)
    return row?.pending ?? 0
  }

  addApproval(approval: Approval): void {
    this.#database
      .prepare(
        `insert into approvals
           (id, binding, request, covers, caller, capability, state, created, expires,
            approvers, shown)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        approval.id,
        approval.binding,
        approval.request,
        JSON.stringify(approval.covers),
        approval.caller,
        approval.capability,
        approval.state,
        approval.created,
        approval.expires,
        approval.approvers === undefined ? null : JSON.stringify(approval.approvers),
        JSON.stringify(approval.shown),
      )
  }

  decideApproval(id: string, { state, by, at }: ApprovalDecision): void {
    this.#database
      .prepare(
        `update approvals
         set state = ?, decided_by = coalesce(?, decided_by), decided_at = ?
         where id = ?`,
      )
      .run(state, by ?? null, at, id)
  }

  #toRun(row: RunRow): Run {
    // The process of an orphaned run is dead, so how the run ended will never be known.
    const processState = row.state === 'running' ? this.#processes.stateOf(row.boot) : 'alive'
    const state = processState === 'dead' ? 'unknown' : row.state
    return dropUndefined({
      id: row.id,
      caller: row.caller,
      capability: row.capability,
      digest: row.digest,
      fingerprint: row.fingerprint,
      state,
      isUnseen: processState === 'unseen' ? (true as const) : undefined,
      started: row.started,
      charges: JSON.parse(row.charges) as Charge[],
      key: row.key ?? undefined,
      finished: row.finished ?? undefined,
      outcome: row.outcome === null ? undefined : (JSON.parse(row.outcome) as Outcome),
    })
  }
}

const toApproval = (row: ApprovalRow): Approval =>
  dropUndefined({
    id: row.id,
    binding: row.binding,
    request: row.request,
    covers: JSON.parse(row.covers) as Approval['covers'],
    caller: row.caller,
    capability: row.capability,
    state: row.state,
    created: row.created,
    expires: row.expires,
    decidedBy: row.decided_by ?? undefined,
    decidedAt: row.decided_at ?? undefined,
    approvers: row.approvers === null ? undefined : JSON.parse(row.approvers),
    shown: JSON.parse(row.shown) as Approval['shown'],
  })
