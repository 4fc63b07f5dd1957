import type { Call } from '../../capability/call.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import { digestArguments } from '../digest.ts'
import { refused } from '../failures.ts'
import { toKeyArgument } from '../key-argument.ts'
import { toAcceptedKey } from '../key-form.ts'
import type { Clock, Ledger, LedgerReader, Run } from '../ledger.ts'
import type { Check, Verdict } from './check.ts'

export interface RepeatWindows {
  /** Milliseconds for which an idempotency key is remembered. */
  readonly keyMs: number
  /** Milliseconds in which an identical call counts as an accidental duplicate; 0 disables it. */
  readonly duplicateMs: number
}

const maxKeyLength = 255

/** Step name in the audit and in explanations. */
export const repeatsStep = 'repeats'

/**
 * Replays the outcome of a used idempotency key, and refuses likely duplicates. Looks now only if the call may
 * need an approval: the transaction that begins the run looks anyway, and an earlier look costs as much as all
 * checks together.
 */
export const replayRepeats = (ledger: Ledger, windows: RepeatWindows): Check => ({
  name: repeatsStep,
  enforcedWhenObserving: true,
  decide(call, mode) {
    const { capability, idempotencyKey } = call
    if (!capability.effects.writes) return { passes: call }
    if (
      idempotencyKey !== undefined &&
      (idempotencyKey === '' || idempotencyKey.length > maxKeyLength)
    )
      return {
        ends: refused(
          'idempotency_key_required',
          `An idempotency key has 1 to ${maxKeyLength} characters.`,
        ),
      }
    const looksNow = mode === 'explain' || capability.rules.approval
    const repeat = looksNow ? findRepeat(ledger.read, call, windows, ledger.clock) : undefined
    if (!repeat) return { passes: call }
    return mode === 'explain' ? { ends: repeat } : replayStored(ledger, repeat)
  },
})

/**
 * A check that only new calls must pass: before it refuses a call, or has a human asked about it, it looks for
 * an earlier one.
 */
export const unlessRepeated = (check: Check, ledger: Ledger, windows: RepeatWindows): Check => ({
  ...check,
  decide(call, mode) {
    const verdict = check.decide(call, mode)
    if (verdict instanceof Promise || mode !== 'enforce' || passesUnasked(verdict)) return verdict
    if (!call.capability.effects.writes) return verdict
    const repeat = findRepeat(ledger.read, call, windows, ledger.clock)
    return repeat ? replayStored(ledger, repeat) : verdict
  },
})

const passesUnasked = (verdict: Verdict): boolean =>
  'passes' in verdict && verdict.passes.plan.approvalReason === undefined

/** A result is on disk before it is sent, also when a repeat asks for it first. */
export async function replayStored(ledger: Ledger, repeat: Outcome) {
  await ledger.flushed()
  return { ends: repeat, by: repeatsStep }
}

/** Refuses a write without the required idempotency key. */
export const requireKey: Check = {
  name: 'key',
  decide(call) {
    const { effects, rules } = call.capability
    const isMissing = effects.writes && rules.idempotencyKey && call.idempotencyKey === undefined
    return isMissing ? { ends: keyRequired(call) } : { passes: call }
  },
}

/** The outcome of an earlier call that this one repeats, or why it must not run. */
export function findRepeat(
  reader: LedgerReader,
  call: Call,
  windows: RepeatWindows,
  clock: Clock,
): Outcome | undefined {
  const now = clock.now()
  const { caller, capability, address, idempotencyKey } = call
  const digest = digestArguments(call)
  const { repeatable } = capability.effects
  const mayRepeat = repeatable || capability.rules.repeatsAreMeant || windows.duplicateMs === 0
  if (!mayRepeat && idempotencyKey !== undefined)
    if (!reader.hasRun(caller.subject, address, idempotencyKey, digest)) return undefined
  const keyedRun =
    idempotencyKey === undefined
      ? undefined
      : reader.runByKey(caller.subject, address, idempotencyKey)
  if (keyedRun && isRemembered(keyedRun, windows.keyMs, now))
    return toRepeat(keyedRun, call, digest, clock)
  if (mayRepeat) return undefined
  const duplicate = reader.runByDigest(caller.subject, address, digest)
  if (!duplicate || isOverride(call, duplicate)) return undefined
  const isRecent =
    duplicate.finished !== undefined && now - duplicate.finished < windows.duplicateMs
  return duplicate.state !== 'done' || isRecent
    ? possibleDuplicate(call, duplicate, windows, now)
    : undefined
}

/** A run without a known outcome never expires: it has to be settled first. */
const isRemembered = (run: Run, windowMs: number, now: number): boolean =>
  run.state === 'running' || run.state === 'unknown' || now - run.started < windowMs

function toRepeat(run: Run, call: Call, digest: string, clock: Clock): Outcome {
  const details = { call: run.id }
  if (run.digest !== digest)
    return refused(
      'idempotency_conflict',
      'This idempotency key was used with different arguments. Use a new key for a new call, or repeat the original arguments to get its result.',
      { details },
    )
  switch (run.state) {
    case 'running':
      return refused(
        'in_progress',
        'The call with this idempotency key is still running. Try again in a second.',
        {
          details: { ...details, retry_after_ms: 1000 },
          retryable: true,
        },
      )
    case 'unknown':
      return refused(
        'outcome_unknown',
        `Call ${run.id} with this idempotency key was interrupted, and it is unknown if it took effect. It is not run again. Find out, and have the operator settle it: drawbridge runs settle ${run.id}`,
        { details },
      )
    case 'done':
    case 'failed':
      return replay(run, call, clock)
  }
}

function replay(run: Run, call: Call, { toCalendar }: Clock): Outcome {
  const { id, outcome, started, fingerprint } = run
  if (!outcome || outcome.kind === 'asking')
    return refused('outcome_unknown', `The outcome of call ${id} was not stored.`)
  const at = new Date(toCalendar(started)).toISOString()
  const hasChanged = fingerprint !== '' && fingerprint !== call.fingerprint
  const change = hasChanged ? ` The definition of ${call.capability.name} has changed since.` : ''
  const text = `This is the stored result of call ${id} from ${at}; it was not run again.${change}`
  const data = { call: id, at, ...(hasChanged && { definition_changed: true }) }
  return {
    ...outcome,
    callId: id,
    notices: [...(outcome.notices ?? []), { about: 'replayed', text, data }],
  }
}

/** The key that confirms a deliberate duplicate of an earlier run. */
const toOverrideKey = ({ id }: Run, call: Call): string | undefined =>
  toAcceptedKey({ capability: call.capability, input: call.rawInput }, `again-${id}`)

const isOverride = (call: Call, duplicate: Run): boolean =>
  call.idempotencyKey !== undefined && call.idempotencyKey === toOverrideKey(duplicate, call)

function possibleDuplicate(
  call: Call,
  duplicate: Run,
  { duplicateMs }: RepeatWindows,
  now: number,
): Failed {
  const states = {
    running: 'is running',
    unknown: 'has an unknown outcome',
    done: 'has already run',
    failed: 'failed',
  }
  const waitMs = Math.max(0, duplicateMs - (now - (duplicate.finished ?? now)))
  const expiry =
    duplicate.state === 'done'
      ? ` After ${Math.ceil(waitMs / 1000)} s it counts as a new call.`
      : ''
  const advice =
    duplicate.state === 'unknown'
      ? `First find out if it took effect, and have the operator settle it: drawbridge runs settle ${duplicate.id}.`
      : 'If you wanted it to run once, there is nothing to do.'
  const key = toOverrideKey(duplicate, call)
  // A model can send a key only as an argument of the schema.
  const override =
    key === undefined
      ? 'No key that idempotency_key accepts can confirm a deliberate repeat. A call with other arguments runs.'
      : toKeyArgument(call.capability) !== 'none'
        ? `To run it a second time on purpose, call again with idempotency_key ${key}.`
        : `No argument can confirm a deliberate repeat; the client program can, with the idempotency key ${key}. A call with other arguments runs.`
  const message = `An identical call ${states[duplicate.state]}: ${duplicate.id}. ${advice} ${override}${expiry}`
  const details = {
    call: duplicate.id,
    state: duplicate.state,
    ...dropUndefined({ insist_with: key }),
  }
  return refused('possible_duplicate', message, { details })
}

function keyRequired({ capability }: Call): Failed {
  const message = `${capability.name} has side effects and requires an idempotency key: set the argument idempotency_key to a value that is unique to the intended action (not to the attempt), and send the same value when you retry.`
  return refused('idempotency_key_required', message, { retryable: true })
}
