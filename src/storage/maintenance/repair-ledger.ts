import { RowSeals } from '../ledger/seals/row-seals.ts'
import { toChainKey } from '../ledger/seals/seal.ts'
import type { Value } from '../sqlite/sqlite.ts'
import { findMissingCommits, tryReadState } from './missing-commits.ts'
import { rebuildRuns } from './rebuild-runs.ts'
import { copyRows, type Repair } from './repair.ts'
import { repairChain } from './repair-chain.ts'
import type { SavedRow } from './salvage-table.ts'

export interface RepairKey {
  readonly secret: string
  /** False when the key of the store is lost: its seals cannot be verified. */
  readonly isVerifiable: boolean
}

/** Copies what can be read of a ledger into a new one. */
export function repairLedger(
  repair: Repair,
  file: string,
  { secret, isVerifiable }: RepairKey,
): void {
  copyRows(repair, 'ledger_state')
  const seals = isVerifiable ? new RowSeals(secret) : undefined
  const missing = seals && findMissingCommits(file, repair.damaged, seals)
  if (missing) repair.onLost(missing)
  copySealedRows(repair, seals)
  if (missing) dropOpenApprovals(repair)
  const state = seals && tryReadState(repair.damaged, seals)
  const ends = { audit: state?.audit.next, execution_events: state?.events.next }
  for (const name of ['audit', 'execution_events'] as const)
    repairChain(repair, { name, key: toChainKey(secret), isVerifiable, knownEnd: ends[name] })
}

/** Their use or their denial may be among the missing commits. */
function dropOpenApprovals({ fresh, onLost }: Repair): void {
  const open = "state in ('pending', 'approved')"
  for (const { id } of fresh
    .prepare<{ id: string }>(`select id from approvals where ${open}`)
    .all())
    onLost({ table: 'approvals', key: id, reason: 'dropped, because it may have been used since' })
  fresh.exec(`delete from approvals where ${open}`)
}

/**
 * Copies runs, approvals and spending, without seals: the new generation seals them. A run that is not
 * trusted is kept with an unknown outcome, so that its call is not repeated; an approval that is not trusted
 * is dropped. Without `seals` every row is trusted, because the key is lost.
 */
export function copySealedRows(repair: Repair, seals: RowSeals | undefined): void {
  copyRows(repair, 'runs', (row) => {
    if (isIntact('runs', row, seals)) return { ...row, seal: null }
    repair.onLost({
      table: 'runs',
      key: String(row.id),
      reason: 'its seal does not match; kept with an unknown outcome',
    })
    return { ...row, state: 'unknown', finished: null, outcome: null, charges: '[]', seal: null }
  })
  rebuildRuns(repair)
  copyRows(repair, 'approvals', (row) => {
    if (isIntact('approvals', row, seals)) return { ...row, seal: null }
    repair.onLost({ table: 'approvals', key: String(row.id), reason: 'its seal does not match' })
    return undefined
  })
  copyRows(repair, 'spending', (row) => {
    if (!isIntact('spending', row, seals))
      repair.onLost({
        table: 'spending',
        key: `${row.account} ${row.window}`,
        reason: `its seal does not match; kept with the amount ${row.spent}`,
      })
    return { ...row, seal: null }
  })
}

const isIntact = (
  table: string,
  { seal, ...row }: SavedRow,
  seals: RowSeals | undefined,
): boolean => seals === undefined || seals.sealRow(table, Object.values(row) as Value[]) === seal
