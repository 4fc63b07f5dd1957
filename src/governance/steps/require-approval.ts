import type { Call } from '../../capability/call.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import { toCause } from '../../capability/to-cause.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toApprovalBinding } from '../approval-binding.ts'
import { toApprovalMessage, toApprovalView } from '../approval-view.ts'
import { refused } from '../failures.ts'
import type { Approval, Ledger } from '../ledger.ts'
import type { Check, Verdict } from './check.ts'

export interface ApprovalTimes {
  /** Milliseconds to answer the form at the client. */
  readonly atClientMs: number
  /** Milliseconds to decide through the CLI or HTTP. */
  readonly elsewhereMs: number
}

/** Pending approvals per caller: bounds the queue that a human has to read. */
const maxPending = 1000

/** Name of the form question at the client. */
const questionName = 'approval'

/** Requires a human's approval of exactly these arguments. Fails closed, and does not wait. */
export const requireApproval = (
  ledger: Ledger,
  times: ApprovalTimes,
  { now: clock, newId }: { readonly now: () => number; readonly newId: () => string },
): Check => ({
  name: 'approval',
  decide(call, mode) {
    const { rules } = call.capability
    if (!rules.approval && call.plan.approvalReason === undefined) return { passes: call }
    const binding = toApprovalBinding(call)
    const now = clock()
    const latestApproval = ledger.read.approvalFor(binding)
    const approval = latestApproval && latestApproval.expires > now ? latestApproval : undefined
    if (approval?.state === 'approved') return useApproval(call, approval)
    if (approval?.state === 'denied') return { ends: denied(call, approval) }
    if (mode !== 'enforce') return { ends: { kind: 'asking', questions: {} } }
    const answer = readAnswer(call)
    if (answer) return applyAnswer(ledger, call, binding, answer, now)
    return ask(ledger, call, approval?.state === 'pending' ? approval : undefined, () => {
      const waitMs = canAskAtClient(call) ? times.atClientMs : times.elsewhereMs
      return dropUndefined({
        id: newId(),
        binding,
        caller: call.caller.subject,
        capability: call.capability.name,
        state: 'pending' as const,
        created: now,
        expires: now + waitMs,
        approvers: rules.approvers,
        shown: toApprovalView(call),
      })
    })
  },
})

const useApproval = (call: Call, { id, decidedBy }: Approval): Verdict => ({
  passes: { ...call, plan: { ...call.plan, approvalId: id } },
  note: `approved by ${decidedBy} (${id})`,
})

/** The caller's own client must not be asked if the rules name `approvers`. */
const canAskAtClient = ({ canAsk, capability }: Call): boolean =>
  canAsk.has('form') && capability.rules.approvers === undefined

interface ApprovalAnswer {
  readonly id: string
  readonly decision: 'approved' | 'denied' | 'dismissed'
}

/** The state was sealed by us and verified; the answer is untrusted client input. */
function readAnswer({ state, answers, capability }: Call): ApprovalAnswer | undefined {
  // The person at the client answers as the caller; named approvers decide elsewhere.
  if (capability.rules.approvers !== undefined) return undefined
  if (!isPlainObject(state) || typeof state.approval !== 'string') return undefined
  const answer = answers[questionName]
  if (!answer) return undefined
  const { action, content } = answer
  const approves = isPlainObject(content) && content.approve === true
  const decision =
    action === 'cancel' ? 'dismissed' : action === 'accept' && approves ? 'approved' : 'denied'
  return { id: state.approval, decision }
}

async function applyAnswer(
  ledger: Ledger,
  call: Call,
  binding: string,
  { id, decision: state }: ApprovalAnswer,
  now: number,
): Promise<Verdict> {
  if (state === 'dismissed') return { ends: approvalRequired(call, id) }
  try {
    return await ledger.write((writer): Verdict => {
      const approval = writer.approval(id)
      if (approval?.binding !== binding || approval.expires <= now || approval.state !== 'pending')
        return { ends: approvalInvalid(call) }
      const by = call.caller.subject
      writer.decideApproval(id, { state, by, at: now })
      writer.append({
        event: state,
        at: now,
        id,
        caller: call.caller.subject,
        capability: call.capability.name,
        by,
      })
      return state === 'approved'
        ? useApproval(call, { ...approval, decidedBy: by })
        : { ends: denied(call, approval) }
    })
  } catch (error) {
    return { ends: ledgerUnavailable(error) }
  }
}

async function ask(
  ledger: Ledger,
  call: Call,
  pending: Approval | undefined,
  make: () => Approval,
): Promise<Verdict> {
  let approval = pending
  if (!approval) {
    const request = make()
    const { id, created: at, caller, capability } = request
    try {
      approval = await ledger.write((writer) => {
        // Checked again inside the transaction: a concurrent identical call may have asked already.
        const existing = writer.approvalFor(request.binding)
        if (existing && existing.state !== 'used' && existing.expires > at) return existing
        if (writer.countPendingApprovals(caller, at) >= maxPending) return undefined
        writer.addApproval(request)
        writer.append({ event: 'asked', at, id, caller, capability })
        return request
      })
    } catch (error) {
      return { ends: ledgerUnavailable(error) }
    }
  }
  if (!approval) return { ends: tooManyPending(call) }
  if (!canAskAtClient(call)) return { ends: approvalRequired(call, approval.id) }
  return { ends: toQuestion(approval) }
}

const toQuestion = ({ id, capability, shown }: Approval): Outcome => ({
  kind: 'asking',
  questions: {
    [questionName]: {
      kind: 'form',
      message: toApprovalMessage(capability, shown),
      schema: {
        type: 'object',
        properties: {
          approve: {
            type: 'boolean',
            title: 'Approve',
            description: 'Yes: run it once with these arguments.',
          },
        },
        required: ['approve'],
      },
    },
  },
  state: { approval: id },
})

function approvalRequired({ capability, plan }: Call, id: string): Failed {
  const reason = plan.approvalReason === undefined ? '' : ` ${plan.approvalReason}`
  // The folder is not named: the operator's paths are not disclosed to a model.
  const message = `${capability.name} requires human approval.${reason} Nothing was executed. Approval request: ${id}. Ask an approver to run, in the folder of the server's configuration: drawbridge approvals approve ${id} — then make exactly the same call again.`
  return refused('approval_required', message, { details: { approval: id }, retryable: true })
}

const tooManyPending = ({ capability }: Call): Failed =>
  refused(
    'rate_limited',
    `${capability.name} requires human approval, and ${maxPending} of your requests are already pending. Nothing was executed. Have those decided first, in the folder of the server's configuration: drawbridge approvals list.`,
    { retryable: true },
  )

const denied = ({ capability }: Call, { id, decidedBy }: Approval): Failed =>
  refused(
    'approval_denied',
    `A human denied this call of ${capability.name}${decidedBy === undefined ? '' : ` (${decidedBy})`}. Nothing was executed. Do not retry; ask the person what they want instead.`,
    { details: { approval: id } },
  )

export const approvalInvalid = ({ capability }: Call): Failed =>
  refused(
    'approval_expired',
    `The approval for ${capability.name} has expired, was already used, or belongs to another call. Nothing was executed. Repeat the call to request a new approval.`,
    { retryable: true },
  )

export const ledgerUnavailable = (cause: unknown): Failed => {
  if (!(cause instanceof StorageError)) throw cause
  if (cause instanceof DamageError) return ledgerDamaged(cause)
  return refused(
    'ledger_unavailable',
    'Nothing was executed, because the ledger cannot be written.',
    {
      cause: toCause(cause.cause ?? cause),
      retryable: true,
    },
  )
}

/** Side effects could run twice: an earlier call may be missing in the ledger. */
const ledgerDamaged = ({ message }: DamageError): Failed =>
  refused('ledger_damaged', 'Nothing was executed, because the ledger is damaged.', {
    cause: message,
    advice:
      'The ledger is damaged and nothing was executed: run "drawbridge store check", then "drawbridge store restore" or "drawbridge store repair".',
  })
