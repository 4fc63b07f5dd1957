import type { LedgerReader } from '../../../governance/ledger.ts'
import type { LedgerTables } from '../ledger-tables.ts'
import type { DamageGuard } from './damage-guard.ts'

/** Reads outside of transactions, refused when the ledger is damaged. */
export function guardReader(reader: LedgerTables, guard: DamageGuard): LedgerReader {
  return {
    runByKey: (caller, capability, key) =>
      guard.attempt(() => reader.runByKey(caller, capability, key)),
    runByDigest: (caller, capability, digest) =>
      guard.attempt(() => reader.runByDigest(caller, capability, digest)),
    hasRun: (caller, capability, key, digest) =>
      guard.attempt(() => reader.hasRun(caller, capability, key, digest)),
    run: (id) => guard.attempt(() => reader.run(id)),
    runs: (state, limit) => guard.attempt(() => reader.runs(state, limit)),
    spent: (account, window) =>
      guard.attempt(() => {
        reader.refreshOncePerTurn()
        return reader.spent(account, window)
      }),
    approval: (id) => guard.attempt(() => reader.approval(id)),
    approvalFor: (binding) => guard.attempt(() => reader.approvalFor(binding)),
    outdatedApproval: (request, binding, now) =>
      guard.attempt(() => reader.outdatedApproval(request, binding, now)),
    pendingApprovals: (now, limit) => guard.attempt(() => reader.pendingApprovals(now, limit)),
    approvals: (state, limit) => guard.attempt(() => reader.approvals(state, limit)),
    countPendingApprovals: (caller, now) =>
      guard.attempt(() => reader.countPendingApprovals(caller, now)),
  }
}
