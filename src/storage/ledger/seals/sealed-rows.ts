import type { Approval, Run } from '../../../governance/ledger.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { RowSeals } from './row-seals.ts'
import { type Sealed, SealedTable, type TableShape } from './sealed-table.ts'

export interface RunRow {
  readonly id: string
  readonly boot: string
  readonly caller: string
  readonly capability: string
  readonly key: string | null
  readonly digest: string
  readonly state: Run['state']
  readonly started: number
  readonly finished: number | null
  readonly charges: string
  readonly outcome: string | null
  readonly fingerprint: string
}

export type SealedRun = Sealed<RunRow>

export interface ApprovalRow {
  readonly id: string
  readonly binding: string
  readonly caller: string
  readonly capability: string
  readonly state: Approval['state']
  readonly created: number
  readonly expires: number
  readonly decided_by: string | null
  readonly decided_at: number | null
  readonly approvers: string | null
  readonly shown: string
  readonly request: string
  readonly covers: string
}

export interface SpendingRow {
  readonly account: string
  readonly window: string
  readonly spent: number
}

/** The tables whose rows are sealed. */
export interface SealedRows {
  readonly runs: SealedTable<RunRow>
  readonly approvals: SealedTable<ApprovalRow>
  readonly spending: SealedTable<SpendingRow>
}

export const openSealedRows = (database: Sqlite, seals: RowSeals): SealedRows => ({
  runs: new SealedTable(database, runShape, seals),
  approvals: new SealedTable(database, approvalShape, seals),
  spending: new SealedTable(database, spendingShape, seals),
})

const runShape: TableShape<RunRow> = {
  name: 'runs',
  primaryKey: ['id'],
  columns: {
    id: 'text',
    boot: 'text',
    caller: 'text',
    capability: 'text',
    key: 'text',
    digest: 'text',
    state: 'text',
    started: 'integer',
    finished: 'integer',
    charges: 'text',
    outcome: 'text',
    fingerprint: 'text',
  },
}

const approvalShape: TableShape<ApprovalRow> = {
  name: 'approvals',
  primaryKey: ['id'],
  columns: {
    id: 'text',
    binding: 'text',
    caller: 'text',
    capability: 'text',
    state: 'text',
    created: 'integer',
    expires: 'integer',
    decided_by: 'text',
    decided_at: 'integer',
    approvers: 'text',
    shown: 'text',
    request: 'text',
    covers: 'text',
  },
}

const spendingShape: TableShape<SpendingRow> = {
  name: 'spending',
  primaryKey: ['account', 'window'],
  columns: { account: 'text', window: 'text', spent: 'real' },
}
