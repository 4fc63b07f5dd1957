import type { Approval, LedgerWriter } from './ledger.ts'

/** True for an expired approval. Recorded in the transaction that refuses it, so that it stays expired. */
export function expireApproval(writer: LedgerWriter, approval: Approval, at: number): boolean {
  const { id, state, expires } = approval
  if (state === 'expired') return true
  if (expires > at) return false
  if (state === 'pending' || state === 'approved')
    writer.decideApproval(id, { state: 'expired', at })
  return true
}
