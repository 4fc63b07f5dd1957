import type { Caller } from '../capability/caller.ts'
import type { Fault } from '../capability/fault.ts'
import { StorageError } from '../capability/storage-error.ts'
import type { Approval, Ledger } from './ledger.ts'
import { hasScope } from './permits.ts'

export type ApprovalResult = { readonly approval: Approval } | Fault

/** The scope that allows a caller to see and decide approvals. */
export const decidingScope = 'approvals:decide'

/** Lists and decides approvals: behind the CLI, the HTTP routes and the library. */
export class Approvals {
  readonly #ledger: Ledger
  readonly #now: () => number

  constructor(ledger: Ledger, now: () => number) {
    this.#ledger = ledger
    this.#now = now
  }

  /** True when this caller may see and decide approvals. */
  admits(caller: Caller): boolean {
    return hasScope(caller, decidingScope)
  }

  list(all: boolean, limit = 100): Approval[] {
    const approvals = this.#ledger.read.approvals(all ? undefined : 'pending', limit)
    return all ? approvals : approvals.filter(({ expires }) => expires > this.#now())
  }

  find(id: string): Approval | undefined {
    return this.#ledger.read.approval(id)
  }

  async decide(id: string, state: 'approved' | 'denied', by: string): Promise<ApprovalResult> {
    const at = this.#now()
    try {
      return await this.#ledger.write((writer): ApprovalResult => {
        const approval = writer.approval(id)
        if (!approval) return { fault: `There is no approval ${id}.` }
        if (approval.state !== 'pending') return { fault: `${id} is already ${approval.state}.` }
        if (approval.expires <= at) return { fault: `${id} has expired.` }
        const objection = findObjection(approval, by)
        if (objection !== undefined) return { fault: objection }
        writer.decideApproval(id, { state, by, at })
        const { caller, capability } = approval
        writer.append({ event: state, at, id, caller, capability, by })
        return { approval: { ...approval, state, decidedBy: by, decidedAt: at } }
      })
    } catch (error) {
      if (error instanceof StorageError) return { fault: error.message }
      throw error
    }
  }
}

function findObjection({ approvers, caller }: Approval, by: string): string | undefined {
  if (approvers === 'others' && by === caller)
    return `${by} made the call and cannot approve it: another person has to decide.`
  if (Array.isArray(approvers) && !approvers.includes(by))
    return `Only ${approvers.join(', ')} may decide, not ${by}.`
  return undefined
}
