import type { Caller } from '../capability/caller.ts'
import { type Approval, type Ledger, LedgerError } from './ledger.ts'
import { holds } from './permits.ts'

export type ApprovalResult =
  | { readonly approval: Approval }
  /** Why it was not decided. */
  | { readonly problem: string }

/** What a token must hold to decide for others. */
export const decidingScope = 'approvals:decide'

/** The human side of an approval, whatever door the human comes by. */
export class Approvals {
  readonly #ledger: Ledger
  readonly #now: () => number

  constructor(ledger: Ledger, now: () => number) {
    this.#ledger = ledger
    this.#now = now
  }

  /** Whether this caller may see and decide at all. */
  admits(caller: Caller): boolean {
    return holds(caller, decidingScope)
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
        if (!approval) return { problem: `There is no approval ${id}.` }
        if (approval.state !== 'pending') return { problem: `${id} is ${approval.state} already.` }
        if (approval.expires <= at) return { problem: `${id} has expired.` }
        const objection = findObjection(approval, by)
        if (objection !== undefined) return { problem: objection }
        writer.decideApproval(id, { state, by, at })
        const { caller, capability } = approval
        writer.append({ event: state, at, id, caller, capability, by })
        return { approval: { ...approval, state, decidedBy: by, decidedAt: at } }
      })
    } catch (error) {
      if (error instanceof LedgerError) return { problem: error.message }
      throw error
    }
  }
}

function findObjection({ approvers, caller }: Approval, by: string): string | undefined {
  if (approvers === 'others' && by === caller)
    return `${by} made the call, so somebody else has to decide.`
  if (Array.isArray(approvers) && !approvers.includes(by))
    return `Only ${approvers.join(', ')} may decide, not ${by}.`
  return undefined
}
