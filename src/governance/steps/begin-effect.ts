import type { Call } from '../../capability/call.ts'
import type { Done, Failed, Outcome } from '../../capability/outcome.ts'
import { round } from '../budget.ts'
import { digestOf } from '../digest.ts'
import { refused } from '../failures.ts'
import type { Ledger, LedgerWriter, RunEnd } from '../ledger.ts'
import { toCause } from '../to-cause.ts'
import { cancelled } from './limit-time.ts'
import { toBegin } from './record-audit.ts'
import { findRepeat, type RepeatWindows } from './replay-repeats.ts'
import { unavailable, usedUp } from './require-approval.ts'
import type { Next, Step } from './step.ts'

/**
 * The point of no return. Everything the steps before agreed on is looked at again and written down
 * in one transaction: the run and its key, what it spends, the approval it uses up, the audit. Only
 * when all of it is on the disk does anything happen; and what came of it is on the disk before
 * anybody hears of it.
 */
export const beginEffect =
  (ledger: Ledger, windows: RepeatWindows, now: () => number): Step =>
  (call, next) =>
    leavesTraces(call) ? run(ledger, windows, now, call, next) : next(call)

async function run(
  ledger: Ledger,
  windows: RepeatWindows,
  now: () => number,
  call: Call,
  next: Next,
): Promise<Outcome> {
  let obstacle: Outcome | undefined
  try {
    obstacle = await ledger.write((writer) => begin(writer, call, windows, now()))
  } catch (error) {
    return unavailable(error)
  }
  if (obstacle) return obstacle
  if (call.cancellation.cancelled) {
    // Whoever wanted it left while it was written down: it has not begun.
    await writeInTheEnd(ledger, (writer) => undo(writer, call, now()))
    return cancelled(call)
  }
  let outcome: Outcome
  try {
    outcome = await next(call)
  } catch (thrown) {
    const message = `Something went wrong inside ${call.capability.name}.`
    outcome = refused('internal', message, { cause: toCause(thrown) })
  }
  const told = withNotices(outcome, call)
  await settle(ledger, call, told, now)
  return told
}

const leavesTraces = ({ capability, plan }: Call): boolean =>
  capability.effects.writes || plan.approval !== undefined || (plan.charges?.length ?? 0) > 0

function begin(
  writer: LedgerWriter,
  call: Call,
  windows: RepeatWindows,
  at: number,
): Outcome | undefined {
  const { id, caller, capability, key, plan } = call
  const repeat = capability.effects.writes ? findRepeat(writer, call, windows, at) : undefined
  if (repeat) return repeat
  const charges = plan.charges ?? []
  for (const { account, window, amount, unit, ceiling } of charges) {
    const left = round(ceiling - writer.spent(account, window))
    if (amount <= left) continue
    const message = `${capability.name} is over its budget: ${Math.max(0, left)} ${unit} are left, and it needs ${amount}.`
    return refused('budget_exceeded', message, { details: { unit, left: Math.max(0, left) } })
  }
  if (plan.approval !== undefined) {
    const approval = writer.approval(plan.approval)
    if (approval?.state !== 'approved' || approval.expires <= at) return usedUp(call)
    writer.decideApproval(plan.approval, { state: 'used', at })
  }
  writer.beginRun({
    id,
    caller: caller.subject,
    capability: call.address,
    ...(key !== undefined && { key }),
    digest: digestOf(call),
    started: at,
    charges: charges.map(({ account, window, amount }) => ({ account, window, amount })),
  })
  for (const { account, window, amount } of lasting(call)) writer.charge(account, window, amount)
  writer.append(toBegin(call, at))
  return undefined
}

/** What one call may spend is nobody's concern after it. */
const lasting = ({ id, plan }: Call) => (plan.charges ?? []).filter(({ window }) => window !== id)

async function settle(
  ledger: Ledger,
  call: Call,
  outcome: Outcome,
  now: () => number,
): Promise<void> {
  const work = (writer: LedgerWriter) => {
    if (outcome.kind === 'asking' || isRefusal(outcome)) return undo(writer, call, now())
    writer.endRun(call.id, toEnd(outcome, now()))
    for (const { account, window, amount, unit } of lasting(call))
      writer.charge(account, window, toActual(outcome, amount, unit) - amount)
  }
  call.trail.cost = toActual(outcome, call.capability.rules.cost?.amount ?? 0, 'money')
  await writeInTheEnd(ledger, work)
}

/** What happened and cannot be written down now is written later; until then the key stays taken. */
async function writeInTheEnd(ledger: Ledger, work: (writer: LedgerWriter) => void): Promise<void> {
  try {
    await ledger.write(work)
  } catch {
    const again = () => void ledger.write(work).catch(() => setTimeout(again, 1000).unref())
    setTimeout(again, 1000).unref()
  }
}

/** It did not do anything yet: as if it had not been called. */
function undo(writer: LedgerWriter, call: Call, at: number): void {
  const { id, plan } = call
  writer.forgetRun(id)
  for (const { account, window, amount } of lasting(call)) writer.charge(account, window, -amount)
  if (plan.approval !== undefined) writer.decideApproval(plan.approval, { state: 'approved', at })
}

function toEnd(outcome: Done | Failed, finished: number): RunEnd {
  if (isUncertain(outcome)) return { state: 'unknown', finished }
  if (outcome.kind === 'done') return { state: 'done', finished, outcome }
  const state = isUnanswered(outcome) ? 'done' : 'failed'
  return { state, finished, outcome: withoutCause(outcome) }
}

/** A step inside it was refused: the same call, made again, goes on from there. */
const isRefusal = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && refusals.has(outcome.failure.code)

const refusals = new Set([
  'approval_required',
  'approval_expired',
  'budget_exceeded',
  'in_progress',
  'rate_limited',
])

/** Stopped from outside, or thrown out of: whether it took effect is anybody's guess. */
const isUncertain = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && uncertain.has(outcome.failure.code)

const uncertain = new Set(['timed_out', 'cancelled', 'outcome_unknown', 'internal'])

/** It took effect, and only its answer could not leave. */
const isUnanswered = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && unanswered.has(outcome.failure.code)

const unanswered = new Set(['invalid_output', 'result_too_large'])

function withoutCause(outcome: Failed): Failed {
  const { cause, ...failure } = outcome.failure
  return { ...outcome, failure }
}

/** What it really cost where it says so; nothing where it failed and that is certain. */
function toActual(outcome: Outcome, planned: number, unit: string): number {
  if (outcome.kind === 'done')
    return unit === 'calls' || !isAmount(outcome.cost) ? planned : outcome.cost
  return isUncertain(outcome) || isUnanswered(outcome) ? planned : 0
}

/** A cost comes from the capability, and must not fill up what others spend from. */
const isAmount = (cost: unknown): cost is number =>
  typeof cost === 'number' && cost >= 0 && cost < Number.POSITIVE_INFINITY

function withNotices(outcome: Outcome, { plan }: Call): Outcome {
  const { notices = [] } = plan
  if (notices.length === 0 || outcome.kind === 'asking') return outcome
  return { ...outcome, notices: [...(outcome.notices ?? []), ...notices] }
}
