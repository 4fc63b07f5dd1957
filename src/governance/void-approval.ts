import type { Call } from '../capability/call.ts'
import {
  type ApprovalBinding,
  type ApprovalCoverage,
  findChangedParts,
} from './approval-binding.ts'
import type { Approval, LedgerWriter } from './ledger.ts'

/** An approval that became void, and the parts that changed since it was requested. */
export interface VoidApproval {
  readonly id: string
  readonly changed: readonly string[]
}

/** Voids every open approval of the same call that was requested for something else than would run now. */
export function voidOutdatedApprovals(
  writer: LedgerWriter,
  call: Call,
  { request, binding }: ApprovalBinding,
  covers: ApprovalCoverage,
  at: number,
): readonly VoidApproval[] {
  const voided: VoidApproval[] = []
  for (;;) {
    const approval = writer.outdatedApproval(request, binding, at)
    if (!approval) return voided
    voided.push(voidApproval(writer, call, approval, findChangedParts(approval.covers, covers), at))
  }
}

export function voidApproval(
  writer: LedgerWriter,
  { capability: { name: capability } }: Call,
  { id, caller }: Approval,
  changed: readonly string[],
  at: number,
): VoidApproval {
  writer.decideApproval(id, { state: 'void', at })
  writer.append({ event: 'approval_void', at, id, caller, capability, changed })
  return { id, changed }
}
