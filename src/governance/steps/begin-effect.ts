import type { Call } from '../../capability/call.ts'
import type { Done, Failed, Outcome } from '../../capability/outcome.ts'
import { toBeginEntry } from '../audit-entry.ts'
import { passesCeiling, roundAmount } from '../budget.ts'
import { digestArguments } from '../digest.ts'
import { expireApproval } from '../expire-approval.ts'
import { refused } from '../failures.ts'
import type { Clock, Ledger, LedgerWriter, RunEnd } from '../ledger.ts'
import { internalError } from '../to-failure.ts'
import { noteEnd } from './check.ts'
import { cancelled } from './limit-time.ts'
import { findRepeat, type RepeatWindows, repeatsStep, replayStored } from './replay-repeats.ts'
import { approvalInvalid, ledgerUnavailable } from './require-approval.ts'
import type { Next, Step } from './step.ts'

/**
 * The point of no return: a write-ahead log for side effects. One transaction checks again and
 * records the run with its idempotency key, its charges, the approval it consumes and the audit
 * entry. The capability runs only after the commit; its outcome is committed before it is sent.
 */
export const beginEffect =
  (ledger: Ledger, windows: RepeatWindows): Step =>
  (call, next) =>
    needsLedger(call) ? runRecorded(ledger, windows, call, next) : next(call)

async function runRecorded(
  ledger: Ledger,
  windows: RepeatWindows,
  call: Call,
  next: Next,
): Promise<Outcome> {
  const { now } = ledger.clock
  let stop: Stop | undefined
  try {
    stop = await ledger.write((writer) => begin(writer, call, windows, ledger.clock))
  } catch (error) {
    stop = await stopUnwritten(ledger, windows, call, error)
  }
  if (stop) {
    noteEnd(call, stop.by, stop.ends)
    return stop.ends
  }
  if (call.cancellation.cancelled) {
    // Cancelled during the commit: nothing has run yet, so undo the record.
    await writeWithRetry(ledger, (writer) => undo(writer, call, now()))
    return cancelled(call)
  }
  let outcome: Outcome
  try {
    outcome = await next(call)
  } catch (thrown) {
    outcome = internalError(call, thrown)
  }
  const finalOutcome = withNotices(outcome, call)
  await settle(ledger, call, finalOutcome, now)
  return finalOutcome
}

const needsLedger = ({ capability, plan }: Call): boolean =>
  capability.effects.writes || plan.approvalId !== undefined || (plan.charges?.length ?? 0) > 0

/** Why a call does not begin, and the step that says so. */
interface Stop {
  readonly ends: Outcome
  readonly by: string
}

function begin(
  writer: LedgerWriter,
  call: Call,
  windows: RepeatWindows,
  clock: Clock,
): Stop | undefined {
  const at = clock.now()
  const { id, caller, capability, idempotencyKey, plan } = call
  const repeat = capability.effects.writes ? findRepeat(writer, call, windows, clock) : undefined
  if (repeat) return { ends: repeat, by: repeatsStep }
  const charges = plan.charges ?? []
  for (const { account, window, amount, unit, ceiling, isBelowCeiling = false } of charges) {
    const spent = writer.spent(account, window)
    if (!passesCeiling(spent + amount, ceiling, isBelowCeiling)) continue
    const available = Math.max(0, roundAmount(ceiling - spent))
    const message = `${capability.name} is over its budget: ${available} ${unit} are left, and it needs ${amount}.`
    const ends = refused('budget_exceeded', message, { details: { unit, left: available } })
    return { ends, by: 'budget' }
  }
  if (plan.approvalId !== undefined) {
    const approval = writer.approval(plan.approvalId)
    if (approval?.state !== 'approved' || expireApproval(writer, approval, at))
      return { ends: approvalInvalid(call), by: 'approval' }
    writer.decideApproval(plan.approvalId, { state: 'used', at })
  }
  writer.beginRun({
    id,
    caller: caller.subject,
    capability: call.address,
    ...(idempotencyKey !== undefined && { key: idempotencyKey }),
    digest: digestArguments(call),
    fingerprint: call.fingerprint,
    started: at,
    charges: charges.map(({ account, window, amount }) => ({ account, window, amount })),
  })
  for (const { account, window, amount } of lastingCharges(call))
    writer.charge(account, window, amount)
  writer.append(toBeginEntry(call, at))
  return undefined
}

/** Nothing can begin, for example because the disk is full; but an earlier result can still be replayed. */
async function stopUnwritten(
  ledger: Ledger,
  windows: RepeatWindows,
  call: Call,
  error: unknown,
): Promise<Stop> {
  try {
    const { writes } = call.capability.effects
    const repeat = writes ? findRepeat(ledger.read, call, windows, ledger.clock) : undefined
    if (repeat) return await replayStored(ledger, repeat)
  } catch {
    // It cannot be read either.
  }
  return { ends: ledgerUnavailable(error), by: 'begin' }
}

/** A budget per call is checked but not stored: its window ends with the call. */
const lastingCharges = ({ id, plan }: Call) =>
  (plan.charges ?? []).filter(({ window }) => window !== id)

async function settle(
  ledger: Ledger,
  call: Call,
  outcome: Outcome,
  now: () => number,
): Promise<void> {
  const work = (writer: LedgerWriter) => {
    if (outcome.kind === 'asking' || isRefusal(outcome)) return undo(writer, call, now())
    writer.endRun(call.id, toRunEnd(outcome, now()))
    for (const { account, window, amount, unit } of lastingCharges(call))
      writer.charge(account, window, toActualCost(outcome, amount, unit) - amount)
  }
  call.auditTrail.cost = toActualCost(outcome, call.capability.rules.cost?.amount ?? 0, 'money')
  await writeWithRetry(ledger, work)
}

/** Retries until the ledger accepts it: the effect has happened. The key stays reserved so long. */
async function writeWithRetry(ledger: Ledger, work: (writer: LedgerWriter) => void): Promise<void> {
  try {
    await ledger.write(work)
  } catch {
    const retry = () => void ledger.write(work).catch(() => setTimeout(retry, 1000).unref())
    setTimeout(retry, 1000).unref()
  }
}

/** Removes the run, refunds its charges and restores its approval: nothing took effect. */
function undo(writer: LedgerWriter, call: Call, at: number): void {
  const { id, plan } = call
  writer.forgetRun(id)
  for (const { account, window, amount } of lastingCharges(call))
    writer.charge(account, window, -amount)
  if (plan.approvalId !== undefined)
    writer.decideApproval(plan.approvalId, { state: 'approved', at })
}

function toRunEnd(outcome: Done | Failed, finished: number): RunEnd {
  if (isUncertain(outcome)) return { state: 'unknown', finished }
  if (outcome.kind === 'done') return { state: 'done', finished, outcome }
  const state = isResultUnsent(outcome) ? 'done' : 'failed'
  return { state, finished, outcome: withoutCause(outcome) }
}

/** An inner call was refused by governance: a repeat of the outer call continues from there. */
const isRefusal = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && refusalCodes.has(outcome.failure.code)

const refusalCodes = new Set([
  'approval_required',
  'approval_expired',
  'approval_void',
  'budget_exceeded',
  'in_progress',
  'rate_limited',
])

/** Interrupted or thrown: it is unknown if the call took effect. */
const isUncertain = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && uncertainCodes.has(outcome.failure.code)

const uncertainCodes = new Set(['timed_out', 'cancelled', 'outcome_unknown', 'internal'])

/** The call took effect, but its result was rejected on the way out. */
const isResultUnsent = (outcome: Outcome): boolean =>
  outcome.kind === 'failed' && unsentCodes.has(outcome.failure.code)

const unsentCodes = new Set(['invalid_output', 'result_too_large'])

function withoutCause(outcome: Failed): Failed {
  const { cause, ...failure } = outcome.failure
  return { ...outcome, failure }
}

/** The reported cost, or else the planned one; 0 for a call that certainly failed. */
function toActualCost(outcome: Outcome, plannedCost: number, unit: string): number {
  if (outcome.kind === 'done')
    return unit === 'calls' || !isAmount(outcome.cost) ? plannedCost : outcome.cost
  return isUncertain(outcome) || isResultUnsent(outcome) ? plannedCost : 0
}

/** The capability reports the cost: a negative one must not refill a shared budget. */
const isAmount = (cost: unknown): cost is number =>
  typeof cost === 'number' && cost >= 0 && cost < Number.POSITIVE_INFINITY

function withNotices(outcome: Outcome, { plan }: Call): Outcome {
  const { notices = [] } = plan
  if (notices.length === 0 || outcome.kind === 'asking') return outcome
  return { ...outcome, notices: [...(outcome.notices ?? []), ...notices] }
}
