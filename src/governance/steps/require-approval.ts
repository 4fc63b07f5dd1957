import type { Call } from '../../capability/call.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import type { Rules } from '../../capability/rules.ts'
import { CheckingError, DamageError, StorageError } from '../../capability/storage-error.ts'
import { toCause } from '../../capability/to-cause.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import {
  type ApprovalBinding,
  findChangedParts,
  toApprovalBinding,
  toApprovalCoverage,
} from '../approval-binding.ts'
import { toApprovalMessage, toApprovalView } from '../approval-view.ts'
import { expireApproval } from '../expire-approval.ts'
import { refused } from '../failures.ts'
import type { Approval, Ledger } from '../ledger.ts'
import { type VoidApproval, voidApproval, voidOutdatedApprovals } from '../void-approval.ts'
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

export interface ApprovalOptions {
  readonly ledger: Ledger
  readonly times: ApprovalTimes
  /** Digest of the policy settings that apply to every call. */
  readonly policyDigest: string
  /** Whether the files of the code with this digest are still the ones that were loaded. */
  readonly isCodeCurrent: (code: string) => Promise<boolean>
  readonly newId: () => string
}

/** Requires a human's approval of exactly this call. Fails closed, and does not wait. */
export const requireApproval = (options: ApprovalOptions): Check => ({
  name: 'approval',
  decide(call, mode) {
    const { ledger, times, policyDigest, newId } = options
    const { rules } = call.capability
    if (!rules.approval && call.plan.approvalReason === undefined) return { passes: call }
    const bound = toApprovalBinding(call, policyDigest)
    const now = ledger.clock.now()
    const latestApproval = ledger.read.approvalFor(bound.binding)
    const approval = latestApproval && latestApproval.expires > now ? latestApproval : undefined
    if (approval?.state === 'approved')
      return mode === 'enforce' ? useCurrent(options, call, approval) : useApproval(call, approval)
    if (approval?.state === 'denied') return { ends: denied(call, approval) }
    if (mode !== 'enforce') return { ends: { kind: 'asking', questions: {} } }
    const answer = readAnswer(call)
    if (answer) return applyAnswer(options, call, bound, answer, now)
    return ask(options, call, bound, approval?.state === 'pending' ? approval : undefined, () => {
      const waitMs = canAskAtClient(call) ? times.atClientMs : times.elsewhereMs
      return dropUndefined({
        id: newId(),
        ...bound,
        covers: toApprovalCoverage(call, policyDigest),
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

/** Code that is imported only during a call would be read from the changed files. */
async function useCurrent(
  { ledger, isCodeCurrent }: ApprovalOptions,
  call: Call,
  approval: Approval,
): Promise<Verdict> {
  const checks = await Promise.all(findCode(call.capability).map(isCodeCurrent))
  if (checks.every(Boolean)) return useApproval(call, approval)
  try {
    await ledger.write((writer) =>
      voidApproval(writer, call, approval, ['code'], ledger.clock.now()),
    )
  } catch (error) {
    return { ends: ledgerUnavailable(error) }
  }
  return { ends: codeChanged(call, approval) }
}

/** Digests of all code that a call may run: its own, and that of local agents or of the steps of a pipeline. */
function findCode({ code, destination }: Call['capability']): string[] {
  const parts = [destination?.agents, destination?.steps].flat()
  const nested = parts.map((part) => (isPlainObject(part) ? part.code : undefined))
  return [code, ...nested].filter((digest) => typeof digest === 'string')
}

const useApproval = (call: Call, { id, decidedBy }: Approval): Verdict => ({
  passes: { ...call, plan: { ...call.plan, approvalId: id } },
  note: `approved by ${decidedBy} (${id})`,
})

const canAskAtClient = ({ canAsk, capability }: Call): boolean =>
  canAsk.has('form') && admitsCaller(capability.rules)

/** True if the person at the caller's client may decide, who answers as the caller. */
const admitsCaller = ({ approvers }: Rules): boolean =>
  approvers === undefined || approvers === 'self'

interface ApprovalAnswer {
  readonly id: string
  readonly decision: 'approved' | 'denied' | 'dismissed'
}

/** The state was sealed by us and verified; the answer is untrusted client input. */
function readAnswer({ state, answers, capability }: Call): ApprovalAnswer | undefined {
  if (!admitsCaller(capability.rules)) return undefined
  if (!isPlainObject(state) || typeof state.approval !== 'string') return undefined
  const answer = answers[questionName]
  if (!answer) return undefined
  return { id: state.approval, decision: toDecision(answer) }
}

/** Only a human's clear answer decides. Anything else, such as a form that lacks its field, dismisses the question. */
function toDecision({ action, content }: Call['answers'][string]): ApprovalAnswer['decision'] {
  if (action === 'decline') return 'denied'
  const approve = action === 'accept' && isPlainObject(content) ? content.approve : undefined
  return approve === true ? 'approved' : approve === false ? 'denied' : 'dismissed'
}

async function applyAnswer(
  options: ApprovalOptions,
  call: Call,
  { binding, request }: ApprovalBinding,
  { id, decision: state }: ApprovalAnswer,
  now: number,
): Promise<Verdict> {
  if (state === 'dismissed') return { ends: approvalRequired(call, id) }
  const { ledger, policyDigest } = options
  try {
    const answered = await ledger.write((writer): Approval | Verdict => {
      const approval = writer.approval(id)
      if (approval?.state !== 'pending') return { ends: approvalInvalid(call) }
      if (expireApproval(writer, approval, now)) return { ends: approvalInvalid(call) }
      if (approval.binding !== binding) {
        if (approval.request !== request) return { ends: approvalInvalid(call) }
        const changed = findChangedParts(approval.covers, toApprovalCoverage(call, policyDigest))
        return { ends: approvalVoid(call, voidApproval(writer, call, approval, changed, now)) }
      }
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
        ? { ...approval, decidedBy: by }
        : { ends: denied(call, approval) }
    })
    return 'id' in answered ? useCurrent(options, call, answered) : answered
  } catch (error) {
    return { ends: ledgerUnavailable(error) }
  }
}

async function ask(
  { ledger }: ApprovalOptions,
  call: Call,
  bound: ApprovalBinding,
  pending: Approval | undefined,
  make: () => Approval,
): Promise<Verdict> {
  let approval = pending
  let voided: readonly VoidApproval[] = []
  if (!approval) {
    const request = make()
    const { id, created: at, caller, capability } = request
    // Also checked here, without a durable write: a flood must not cost the others a disk flush each.
    if (ledger.read.countPendingApprovals(caller, at) >= maxPending)
      return { ends: tooManyPending(call) }
    try {
      approval = await ledger.write((writer) => {
        voided = voidOutdatedApprovals(writer, call, bound, request.covers, at)
        // Checked again inside the transaction: a concurrent identical call may have asked already.
        const existing = writer.approvalFor(request.binding)
        if (existing && existing.state !== 'used' && !expireApproval(writer, existing, at))
          return existing
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
  const [former] = voided
  if (!canAskAtClient(call))
    return {
      ends: former ? approvalVoid(call, former, approval.id) : approvalRequired(call, approval.id),
    }
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
  const message = `${capability.name} requires human approval.${reason} Nothing was executed. Approval request: ${id}. ${toInstruction(id)}`
  return refused('approval_required', message, { details: { approval: id }, retryable: true })
}

/** The folder is not named: the operator's paths are not disclosed to a model. */
const toInstruction = (id: string): string =>
  `Ask an approver to run, in the folder of the server's configuration: drawbridge approvals approve ${id} — then make exactly the same call again.`

/** `next` is the request that replaces the void approval; without it, the next call makes one. */
function approvalVoid({ capability }: Call, { id, changed }: VoidApproval, next?: string): Failed {
  const parts = changed.length > 0 ? changed.join(', ') : 'its definition'
  const reason = `Approval ${id} of ${capability.name} is void: ${parts} changed after it was requested. Nothing was executed.`
  const advice =
    next === undefined
      ? 'Repeat the call to request a new approval.'
      : `New approval request: ${next}. ${toInstruction(next)}`
  const details = dropUndefined({ approval: next, void: id, changed })
  return refused('approval_void', `${reason} ${advice}`, { details, retryable: true })
}

const codeChanged = ({ capability }: Call, { id }: Approval): Failed =>
  refused(
    'approval_void',
    `Approval ${id} of ${capability.name} is void: its code has changed on disk since the server loaded it. Nothing was executed. The operator has to restart the server (with "serve --watch", wait for the reload); then repeat the call to request a new approval.`,
    { details: { void: id, changed: ['code'] } },
  )

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
  if (cause instanceof CheckingError) return ledgerChecking(cause)
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

/** The same as for a damaged ledger, which cannot be told apart yet. */
const ledgerChecking = ({ message, retryAfterMs }: CheckingError): Failed =>
  refused('ledger_checking', `Nothing was executed. ${message} Try again then.`, {
    details: { retry_after_ms: retryAfterMs },
    retryable: true,
  })
