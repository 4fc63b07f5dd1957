import type { Call } from '../../capability/call.ts'
import type { Failed, Outcome } from '../../capability/outcome.ts'
import { digestOf } from '../digest.ts'
import { refused } from '../failures.ts'
import type { Ledger, LedgerReader, Run } from '../ledger.ts'
import type { Check } from './check.ts'

export interface RepeatWindows {
  /** Milliseconds for which a key is remembered. */
  readonly key: number
  /** Milliseconds in which the same call again is taken for a mistake; 0 for never. */
  readonly duplicate: number
}

const longestKey = 255

/** What was done once under a key is answered from memory, and what looks like a mistake is stopped. */
export const replayRepeats = (
  ledger: Ledger,
  windows: RepeatWindows,
  now: () => number,
): Check => ({
  name: 'repeats',
  decide(call) {
    const { capability, key } = call
    if (!capability.effects.writes) return { passes: call }
    if (key !== undefined && (key === '' || key.length > longestKey))
      return {
        ends: refused('idempotency_key_required', `A key has 1 to ${longestKey} characters.`),
      }
    const repeat = findRepeat(ledger.read, call, windows, now())
    return repeat ? { ends: repeat } : { passes: call }
  },
})

/** Where a key is required, a call without one is told how to bring one. */
export const requireKey: Check = {
  name: 'key',
  decide(call) {
    const { effects, rules } = call.capability
    const lacks = effects.writes && rules.idempotencyKey && call.key === undefined
    return lacks ? { ends: keyRequired(call) } : { passes: call }
  },
}

/** Looked at early, to refuse before anybody is asked, and again when the run begins. */
export function findRepeat(
  reader: LedgerReader,
  call: Call,
  windows: RepeatWindows,
  now: number,
): Outcome | undefined {
  const { caller, capability, address, key } = call
  const digest = digestOf(call)
  const same = key === undefined ? undefined : reader.runByKey(caller.subject, address, key)
  if (same && isRemembered(same, windows.key, now)) return toRepeat(same, digest)
  if (capability.effects.repeatable || capability.rules.repeatsAreMeant) return undefined
  if (windows.duplicate === 0) return undefined
  const twin = reader.runByDigest(caller.subject, address, digest)
  if (!twin || key === insistence(twin)) return undefined
  const recent = twin.finished !== undefined && now - twin.finished < windows.duplicate
  return twin.state !== 'done' || recent ? possibleDuplicate(call, twin, windows, now) : undefined
}

/** What nobody knows the end of is not forgotten until somebody does. */
const isRemembered = (run: Run, window: number, now: number): boolean =>
  run.state === 'running' || run.state === 'unknown' || now - run.started < window

function toRepeat(run: Run, digest: string): Outcome {
  const about = { call: run.id }
  if (run.digest !== digest)
    return refused(
      'idempotency_conflict',
      'This key was used with other arguments. Use a new key for a new call, or the same arguments to see what came of it.',
      { details: about },
    )
  switch (run.state) {
    case 'running':
      return refused(
        'in_progress',
        'The call under this key is still running. Try again in a second.',
        {
          details: { ...about, retry_after_ms: 1000 },
          retryable: true,
        },
      )
    case 'unknown':
      return refused(
        'outcome_unknown',
        `Call ${run.id} began under this key, and nobody knows whether it took effect. It is not run again. Find out, and have the operator settle it: drawbridge runs settle ${run.id}`,
        { details: about },
      )
    case 'done':
    case 'failed':
      return replay(run)
  }
}

function replay({ id, outcome, started }: Run): Outcome {
  if (!outcome || outcome.kind === 'asking')
    return refused('outcome_unknown', `What came of call ${id} was not kept.`)
  const at = new Date(started).toISOString()
  const text = `This is what call ${id} answered at ${at}; it was not run again.`
  return {
    ...outcome,
    callId: id,
    notices: [...(outcome.notices ?? []), { about: 'replayed', text, data: { call: id, at } }],
  }
}

/** A key that says: I know of that call, and I want another one. */
const insistence = ({ id }: Run): string => `again-${id}`

function possibleDuplicate(
  { capability }: Call,
  twin: Run,
  { duplicate }: RepeatWindows,
  now: number,
): Failed {
  const state = {
    running: 'is running',
    unknown: 'has an unknown outcome',
    done: 'is done',
    failed: 'failed',
  }
  const wait = Math.max(0, duplicate - (now - (twin.finished ?? now)))
  const patience =
    twin.state === 'done' ? ` After ${Math.ceil(wait / 1000)} s it counts as a new call.` : ''
  const advice =
    twin.state === 'unknown'
      ? `Find out whether it took effect before anything else; who knows can say so with: drawbridge runs settle ${twin.id}.`
      : 'If you wanted it once, there is nothing to do.'
  // A model can only send what a schema lets it send.
  const again = capability.rules.idempotencyKey
    ? `To have it done again all the same, call again with idempotency_key ${insistence(twin)}.`
    : `No argument says that it is wanted again: the program that sends the call can, with the idempotency key ${insistence(twin)}. With other arguments it is another call, and runs.`
  const message = `The same call with the same arguments ${state[twin.state]}: ${twin.id}. ${advice} ${again}${patience}`
  const details = { call: twin.id, state: twin.state, insist_with: insistence(twin) }
  return refused('possible_duplicate', message, { details })
}

function keyRequired({ capability }: Call): Failed {
  const message = `${capability.name} takes effect, so it needs a key that makes it safe to repeat: fill the argument idempotency_key with something unique to what you want done (not to the attempt), and keep it when you try again.`
  return refused('idempotency_key_required', message, { retryable: true })
}
