import type { Outcome } from '../../capability/outcome.ts'
import { DamageError } from '../../capability/storage-error.ts'
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
import { readDataVersion } from '../sqlite/data-version.ts'
import type { Sqlite, Statement } from '../sqlite/sqlite.ts'
import type { SeenKeys } from './damage/seen-keys.ts'
import type { ProcessRegistry } from './processes/process-registry.ts'
import { purgeRuns } from './purge-ledger.ts'
import type { ApprovalRow, RunRow, SealedRows, SealedRun } from './seals/sealed-rows.ts'
import { SpendingAccounts } from './spending-accounts.ts'

export interface TableOptions {
  readonly database: Sqlite
  readonly rows: SealedRows
  readonly processes: ProcessRegistry
  readonly seenKeys: SeenKeys
  /** Called when a key that was seen is not in the database. Throws if the database is damaged. */
  readonly onMissingKey: () => void
  readonly append: LedgerWriter['append']
}

/** Runs, spending and approvals. */
export class LedgerTables implements LedgerWriter {
  readonly append: LedgerWriter['append']
  readonly #options: TableOptions
  readonly #rows: SealedRows
  /** Runs of this process that have not ended: their end needs the whole row for its seal. */
  readonly #begun = new Map<string, SealedRun>()
  readonly #spending: SpendingAccounts
  /** Keys of the open transaction. */
  #newKeys: SealedRun[] = []
  #dataVersion = 0
  #isRefreshed = false
  #hasRunStatement: Statement<object> | undefined

  constructor(options: TableOptions) {
    this.#options = options
    this.#rows = options.rows
    this.#spending = new SpendingAccounts(options.rows.spending)
    this.append = options.append
  }

  /** Drops what was cached of a transaction that was rolled back. */
  forget(): void {
    this.#begun.clear()
    this.#spending.forget()
    for (const row of this.#newKeys) this.#options.seenKeys.delete(row)
    this.#newKeys = []
  }

  /** The transaction was committed. */
  complete(): void {
    this.#newKeys = []
  }

  /** Drops cached balances if another process has committed. Runs before they are used. */
  refresh(): void {
    const dataVersion = readDataVersion(this.#options.database)
    if (dataVersion !== this.#dataVersion) this.#spending.forget()
    this.#dataVersion = dataVersion
  }

  /** The same at most once per turn of the event loop, for reads that a transaction repeats. */
  refreshOncePerTurn(): void {
    if (this.#isRefreshed) return
    this.#isRefreshed = true
    setImmediate(() => {
      this.#isRefreshed = false
    })
    this.refresh()
  }

  /** Runs at the end of each transaction, and of each savepoint. */
  writeCharges(): void {
    this.#spending.write()
  }

  runByKey(caller: string, capability: string, key: string): Run | undefined {
    const row = this.#rows.runs.find(
      'where caller = ? and capability = ? and key = ? order by started desc limit 1',
      caller,
      capability,
      key,
    )
    if (row) return this.#toRun(row)
    const { seenKeys, onMissingKey } = this.#options
    const runKey = { caller, capability, key }
    if (!seenKeys.has(runKey)) return undefined
    onMissingKey()
    // Another process has purged it.
    seenKeys.delete(runKey)
    return undefined
  }

  runByDigest(caller: string, capability: string, digest: string): Run | undefined {
    const row = this.#rows.runs.find(
      `where caller = ? and capability = ? and digest = ? and state != 'failed'
       order by started desc limit 1`,
      caller,
      capability,
      digest,
    )
    return row && this.#toRun(row)
  }

  hasRun(caller: string, capability: string, key: string, digest: string): boolean {
    const { database, seenKeys } = this.#options
    // Its row may be lost: `runByKey` finds out.
    if (seenKeys.has({ caller, capability, key })) return true
    this.#hasRunStatement ??= database.prepare(
      `select 1 from runs where caller = ?1 and capability = ?2 and key = ?3
       union all
       select 1 from runs where caller = ?1 and capability = ?2 and digest = ?4 and state != 'failed'
       limit 1`,
    )
    return this.#hasRunStatement.get(caller, capability, key, digest) !== undefined
  }

  run(id: string): Run | undefined {
    const row = this.#findRun(id)
    return row && this.#toRun(row)
  }

  runs(state: Run['state'] | undefined, limit: number): Run[] {
    return this.#runRows(state, limit)
      .map((row) => this.#toRun(row))
      .filter((run) => !state || run.state === state)
      .slice(0, limit)
  }

  #runRows(state: Run['state'] | undefined, limit: number): RunRow[] {
    const { runs } = this.#rows
    const latest = 'order by started desc'
    switch (state) {
      case undefined:
        return runs.all(`${latest} limit ?`, limit)
      case 'done':
      case 'failed':
        return runs.all(`where state = ? ${latest} limit ?`, state, limit)
      case 'running':
      case 'unknown':
        // Filtered by the caller: whether a run is orphaned depends on which processes are alive.
        return runs.all(`where state in ('running', 'unknown') ${latest}`)
    }
  }

  beginRun(run: NewRun): void {
    const { id, caller, capability, key, digest, fingerprint, started, charges } = run
    const row = this.#rows.runs.insert({
      id,
      boot: this.#options.processes.ownId,
      caller,
      capability,
      key: key ?? null,
      digest,
      state: 'running',
      started,
      finished: null,
      charges: JSON.stringify(charges),
      outcome: null,
      fingerprint,
    })
    this.#begun.set(id, row)
    this.#options.seenKeys.add(row)
    this.#newKeys.push(row)
  }

  endRun(id: string, { state, finished, outcome }: RunEnd): void {
    const end = {
      state,
      finished,
      outcome: outcome === undefined ? null : JSON.stringify(outcome),
    }
    const { runs } = this.#rows
    const begun = this.#begun.get(id)
    this.#begun.delete(id)
    if (begun && runs.update(begun, end)) return
    const row = this.#findRun(id)
    if (row) runs.update(row, end)
  }

  forgetRun(id: string): void {
    const row = this.#findRun(id)
    if (!row) return
    this.#begun.delete(id)
    this.#rows.runs.delete('where id = ?', id)
    this.#options.seenKeys.delete(row)
  }

  /** Returns the number of deleted runs. */
  purgeRuns(before: number): number {
    const purged = purgeRuns(this.#rows, before)
    // Without this, a key that is used again would look like a lost row.
    for (const row of purged) this.#options.seenKeys.delete(row)
    return purged.length
  }

  #findRun(id: string): SealedRun | undefined {
    return this.#rows.runs.get('where id = ?', id)
  }

  spent(account: string, window: string): number {
    return this.#spending.spent(account, window)
  }

  charge(account: string, window: string, amount: number): void {
    this.#spending.charge(account, window, amount)
  }

  approval(id: string): Approval | undefined {
    const row = this.#rows.approvals.get('where id = ?', id)
    return row && toApproval(row)
  }

  approvalFor(binding: string): Approval | undefined {
    const row = this.#rows.approvals.get(
      // Sorted by expiry, not by creation: a clock set back must not hide an approval that is still valid.
      `where binding = ? order by state in ('used', 'expired'), expires desc limit 1`,
      binding,
    )
    return row && toApproval(row)
  }

  outdatedApproval(request: string, binding: string, now: number): Approval | undefined {
    const row = this.#rows.approvals.get(
      `where request = ? and binding != ? and state in ('pending', 'approved') and expires > ?
       order by state = 'pending', created desc limit 1`,
      request,
      binding,
      now,
    )
    return row && toApproval(row)
  }

  approvals(state: Approval['state'] | undefined, limit: number): Approval[] {
    const { approvals } = this.#rows
    const rows = state
      ? approvals.all('where state = ? order by created desc limit ?', state, limit)
      : approvals.all('order by created desc limit ?', limit)
    return rows.map(toApproval)
  }

  pendingApprovals(now: number, limit: number): Approval[] {
    // The subquery reads only the index approvals_waiting.
    return this.#rows.approvals
      .all(
        `join (
           select id as waiting_id,
             row_number() over (partition by caller order by expires desc) as place
           from approvals where state = 'pending' and expires > ?
         ) on id = waiting_id
         order by place, expires desc limit ?`,
        now,
        limit,
      )
      .map(toApproval)
  }

  countPendingApprovals(caller: string, now: number): number {
    const row = this.#options.database
      .prepare<{ pending: number }>(
        `select count(*) as pending from approvals
         where caller = ? and state = 'pending' and expires > ?`,
      )
      .get(caller, now)
    return row?.pending ?? 0
  }

  addApproval(approval: Approval): void {
    this.#rows.approvals.insert({
      id: approval.id,
      binding: approval.binding,
      caller: approval.caller,
      capability: approval.capability,
      state: approval.state,
      created: approval.created,
      expires: approval.expires,
      decided_by: null,
      decided_at: null,
      approvers: approval.approvers === undefined ? null : JSON.stringify(approval.approvers),
      shown: JSON.stringify(approval.shown),
      request: approval.request,
      covers: JSON.stringify(approval.covers),
    })
  }

  decideApproval(id: string, { state, by, at }: ApprovalDecision): void {
    const { approvals } = this.#rows
    const row = approvals.get('where id = ?', id)
    if (row) approvals.update(row, { state, decided_by: by ?? row.decided_by, decided_at: at })
  }

  #toRun(row: RunRow): Run {
    // The process of an orphaned run is dead, so how the run ended will never be known.
    const processState =
      row.state === 'running' ? this.#options.processes.stateOf(row.boot) : 'alive'
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
      charges: parseCell<Charge[]>(row.charges),
      key: row.key ?? undefined,
      finished: row.finished ?? undefined,
      outcome: row.outcome === null ? undefined : parseCell<Outcome>(row.outcome),
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
    approvers:
      row.approvers === null
        ? undefined
        : parseCell<NonNullable<Approval['approvers']>>(row.approvers),
    shown: parseCell<Approval['shown']>(row.shown),
  })

/** A row of an earlier version was sealed as it was found: its JSON may have been damaged before. */
function parseCell<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch (error) {
    throw new DamageError('a column does not contain JSON', { cause: error })
  }
}
