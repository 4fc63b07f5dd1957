import type { Call } from '../../capability/call.ts'
import { isPlainObject } from '../../capability/json.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { toBinding } from '../digest.ts'
import { refused } from '../failures.ts'
import { type Approval, type Ledger, LedgerError } from '../ledger.ts'
import { toMessage, toView } from '../show-approval.ts'
import { toCause } from '../to-cause.ts'
import type { Check, Verdict } from './check.ts'

export interface ApprovalTimes {
  /** Milliseconds a person at the client has. */
  readonly asked: number
  /** Milliseconds a person elsewhere has. */
  readonly pending: number
}

/** Questions of one caller that wait for an answer: more of them nobody reads. */
const mostWaiting = 1000

/** The key under which a client's person answers. */
const question = 'approval'

/** Runs only after a human said yes to these very arguments. Fails closed, and never waits. */
export const requireApproval = (
  ledger: Ledger,
  times: ApprovalTimes,
  outside: { readonly now: () => number; readonly newId: () => string },
): Check => ({
  name: 'approval',
  decide(call, rehearsal) {
    const { rules } = call.capability
    if (!rules.approval && call.plan.reauthorise === undefined) return { passes: call }
    const binding = toBinding(call)
    const now = outside.now()
    const known = ledger.read.approvalFor(binding)
    const valid = known && known.expires > now ? known : undefined
    if (valid?.state === 'approved') return useApproval(call, valid)
    if (valid?.state === 'denied') return { ends: denied(call, valid) }
    if (rehearsal) return { ends: { kind: 'asking', questions: {} } }
    const answered = readAnswer(call)
    if (answered) return takeAnswer(ledger, call, binding, answered, now)
    return ask(ledger, call, valid?.state === 'pending' ? valid : undefined, () => {
      const askable = canBeAsked(call)
      return {
        id: outside.newId(),
        binding,
        caller: call.caller.subject,
        capability: call.capability.name,
        state: 'pending',
        created: now,
        expires: now + (askable ? times.asked : times.pending),
        ...(rules.approvers !== undefined && { approvers: rules.approvers }),
        shown: toView(call),
      }
    })
  },
})

const useApproval = (call: Call, { id, decidedBy }: Approval): Verdict => ({
  passes: { ...call, plan: { ...call.plan, approval: id } },
  note: `approved by ${decidedBy} (${id})`,
})

/** Who wants somebody else than the caller to agree must not ask at the client. */
const canBeAsked = ({ canAsk, capability }: Call): boolean =>
  canAsk.has('form') && capability.rules.approvers === undefined

interface Answered {
  readonly id: string
  readonly says: 'yes' | 'no' | 'nothing'
}

/** The state is ours, verified before it came here; the answer is as untrusted as any argument. */
function readAnswer({ state, answers, capability }: Call): Answered | undefined {
  // The person at the client is the caller, whose word is not the one that is wanted.
  if (capability.rules.approvers !== undefined) return undefined
  if (!isPlainObject(state) || typeof state.approval !== 'string') return undefined
  const answer = answers[question]
  if (!answer) return undefined
  const { action, content } = answer
  const approves = isPlainObject(content) && content.approve === true
  const says = action === 'cancel' ? 'nothing' : action === 'accept' && approves ? 'yes' : 'no'
  return { id: state.approval, says }
}

async function takeAnswer(
  ledger: Ledger,
  call: Call,
  binding: string,
  { id, says }: Answered,
  now: number,
): Promise<Verdict> {
  if (says === 'nothing') return { ends: pendingAnswer(call, id) }
  try {
    return await ledger.write((writer): Verdict => {
      const approval = writer.approval(id)
      if (approval?.binding !== binding || approval.expires <= now || approval.state !== 'pending')
        return { ends: usedUp(call) }
      const state = says === 'yes' ? 'approved' : 'denied'
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
      return says === 'yes'
        ? useApproval(call, { ...approval, decidedBy: by })
        : { ends: denied(call, approval) }
    })
  } catch (error) {
    return { ends: unavailable(error) }
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
    const made = make()
    const { id, created: at, caller, capability } = made
    try {
      approval = await ledger.write((writer) => {
        // Looked at again: the same call may have asked meanwhile, and one question is enough.
        const other = writer.approvalFor(made.binding)
        if (other && other.state !== 'used' && other.expires > at) return other
        if (writer.waiting(caller, at) >= mostWaiting) return undefined
        writer.addApproval(made)
        writer.append({ event: 'asked', at, id, caller, capability })
        return made
      })
    } catch (error) {
      return { ends: unavailable(error) }
    }
  }
  if (!approval) return { ends: tooMany(call) }
  if (!canBeAsked(call)) return { ends: pendingAnswer(call, approval.id) }
  return { ends: toQuestion(approval) }
}

const toQuestion = ({ id, capability, shown }: Approval): Outcome => ({
  kind: 'asking',
  questions: {
    [question]: {
      kind: 'form',
      message: toMessage(capability, shown),
      schema: {
        type: 'object',
        properties: {
          approve: {
            type: 'boolean',
            title: 'Approve',
            description: 'Yes: run it once, like this.',
          },
        },
        required: ['approve'],
      },
    },
  },
  state: { approval: id },
})

function pendingAnswer({ capability, plan }: Call, id: string): Failed {
  const why = plan.reauthorise === undefined ? '' : ` ${plan.reauthorise}`
  // Not which folder that is: a model has no business with the operator's paths.
  const message = `${capability.name} needs a human's approval.${why} Nothing was done. The request is ${id}. Tell the person to run, in the folder of the server's configuration: drawbridge approvals approve ${id} — and then make exactly the same call again.`
  return refused('approval_required', message, { details: { approval: id }, retryable: true })
}

const tooMany = ({ capability }: Call): Failed =>
  refused(
    'rate_limited',
    `${capability.name} needs a human's approval, and ${mostWaiting} requests of yours wait for one already. Nothing was done. Have them answered first, in the folder of the server's configuration: drawbridge approvals list.`,
    { retryable: true },
  )

const denied = ({ capability }: Call, { id, decidedBy }: Approval): Failed =>
  refused(
    'approval_denied',
    `A human said no to this call of ${capability.name}${decidedBy === undefined ? '' : ` (${decidedBy})`}. Nothing was done. Do not try it again; ask the person what they want instead.`,
    { details: { approval: id } },
  )

export const usedUp = ({ capability }: Call): Failed =>
  refused(
    'approval_expired',
    `The approval for ${capability.name} has expired, was used already, or was for something else. Nothing was done. Make the call again to ask anew.`,
    { retryable: true },
  )

export const unavailable = (cause: unknown): Failed => {
  if (!(cause instanceof LedgerError)) throw cause
  return refused('ledger_unavailable', 'Nothing was done, because it could not be written down.', {
    cause: toCause(cause.cause ?? cause),
    retryable: true,
  })
}
