import { approvalScope, type Caller } from '../capability/caller.ts'
import type { Fault } from '../capability/fault.ts'
import { isSameSubject } from '../capability/same-subject.ts'
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

  /** True when this caller may see and decide approvals. The local user may not: it makes the calls. */
  admits(caller: Caller): boolean {
    return caller.scopes !== 'all' && hasScope(caller, approvalScope)
  }

  /**
   * The latest approvals. Without `all` those that can be decided now, one of each caller, then a second
   * one, and so on: a caller with many requests does not hide the others.
   */
  list(all: boolean, limit = 100): Approval[] {
    const { read, clock } = this.#ledger
    const approvals = all
      ? read.approvals(undefined, limit)
      : read.pendingApprovals(clock.now(), limit)
    return approvals.map((approval) => this.#withDates(approval))
  }

  /** One approval by its id. */
  find(id: string): Approval | undefined {
    const approval = this.#ledger.read.approval(id)
    return approval && this.#withDates(approval)
  }

  /**
   * Approves or denies, and records `by` as the person who did. Refused if `by` made the call, unless
   * the rule says `approvers: self`, and if `by` is not among the listed approvers.
   */
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

/** A person who made a call may not decide about it, except with `approvers: self`. */
export const findCallerFault = (
  { approvers, caller, capability }: Approval,
  person: string,
): string | undefined =>
  approvers === 'self' || !isSameSubject(person, caller)
    ? undefined
    : `${person} made the call and cannot decide about it: another person has to. To let callers decide themselves, set "approvers: self" in a policy rule for ${capability}.`

function findApproverFault(approval: Approval, by: string): string | undefined {
  const { id, approvers, capability } = approval
  if (by.trim() === '') return `Name the person who decides about ${id}.`
  const callerFault = findCallerFault(approval, by)
  if (callerFault !== undefined) return callerFault
  if (!Array.isArray(approvers) || approvers.includes(by)) return undefined
  return approvers.length > 0
    ? `Only ${approvers.join(', ')} may decide, not ${by}.`
    : `Nobody may decide: the policy rules for ${capability} list different approvers. Name a common one.`
}
