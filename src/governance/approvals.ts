import { approvalScope, type Caller } from '../capability/caller.ts'
import type { Fault } from '../capability/fault.ts'
import { StorageError } from '../capability/storage-error.ts'
import { expireApproval } from './expire-approval.ts'
import type { Approval, Ledger } from './ledger.ts'
import { hasScope } from './permits.ts'

/** The decided approval, or why it could not be decided. */
export type ApprovalResult = { readonly approval: Approval } | Fault

/** Lists and decides approvals: behind the CLI, the HTTP routes and the library. */
export class Approvals {
  readonly #ledger: Ledger

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** True when this caller may see and decide approvals. */
  admits(caller: Caller): boolean {
    return hasScope(caller, approvalScope)
  }

  /** The latest approvals: those that can be decided now, or with `all` the decided and expired ones too. */
  list(all: boolean, limit = 100): Approval[] {
    const approvals = this.#ledger.read.approvals(all ? undefined : 'pending', limit)
    const now = this.#ledger.clock.now()
    return (all ? approvals : approvals.filter(({ expires }) => expires > now)).map((approval) =>
      this.#withDates(approval),
    )
  }

  /** One approval by its id. */
  find(id: string): Approval | undefined {
    const approval = this.#ledger.read.approval(id)
    return approval && this.#withDates(approval)
  }

  /** Approves or denies, and records `by` as the person who did. */
  async decide(id: string, state: 'approved' | 'denied', by: string): Promise<ApprovalResult> {
    const { clock } = this.#ledger
    const at = clock.now()
    const doubt = state === 'approved' ? clock.findDoubt() : undefined
    if (doubt !== undefined) return { fault: doubt }
    try {
      return await this.#ledger.write((writer): ApprovalResult => {
        const approval = writer.approval(id)
        if (!approval) return { fault: `There is no approval ${id}.` }
        if (approval.state !== 'pending') return { fault: `${id} is already ${approval.state}.` }
        if (expireApproval(writer, approval, at)) return { fault: `${id} has expired.` }
        const approverFault = findApproverFault(approval, by)
        if (approverFault !== undefined) return { fault: approverFault }
        writer.decideApproval(id, { state, by, at })
        const { caller, capability } = approval
        writer.append({ event: state, at, id, caller, capability, by })
        return { approval: this.#withDates({ ...approval, state, decidedBy: by, decidedAt: at }) }
      })
    } catch (error) {
      if (error instanceof StorageError) return { fault: error.message }
      throw error
    }
  }

  /** Ledger times as dates, for people. */
  #withDates(approval: Approval): Approval {
    const { toCalendar } = this.#ledger.clock
    const { created, expires, decidedAt } = approval
    return {
      ...approval,
      created: toCalendar(created),
      expires: toCalendar(expires),
      ...(decidedAt !== undefined && { decidedAt: toCalendar(decidedAt) }),
    }
  }
}

function findApproverFault({ approvers, caller }: Approval, by: string): string | undefined {
  if (approvers === 'others' && by === caller)
    return `${by} made the call and cannot approve it: another person has to decide.`
  if (Array.isArray(approvers) && !approvers.includes(by))
    return `Only ${approvers.join(', ')} may decide, not ${by}.`
  return undefined
}
