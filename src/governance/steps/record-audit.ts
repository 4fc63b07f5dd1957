import type { Call, Decision } from '../../capability/call.ts'
import type { Failure } from '../../capability/failure.ts'
import type { Outcome } from '../../capability/outcome.ts'
import { findDigest } from '../digest.ts'
import type { Ledger } from '../ledger.ts'
import type { Step } from './step.ts'

/** One line of the audit. No arguments, results or messages, unless policy says so. */
export interface AuditEntry {
  /** `begin` is on the disk before an effect; `end` follows every call. The others are a human's. */
  readonly event: 'begin' | 'end' | 'asked' | 'approved' | 'denied' | 'settled' | 'lost'
  readonly at: number
  /** Of the call, or of the approval. */
  readonly id?: string
  readonly caller?: string
  readonly capability?: string
  readonly source?: string
  readonly fingerprint?: string
  readonly digest?: string
  readonly arguments?: unknown
  /** What the steps had to say; a step that is not named let it pass. */
  readonly decisions?: readonly Decision[]
  readonly outcome?: Outcome['kind']
  readonly code?: string
  readonly duration?: number
  readonly cost?: number
  readonly by?: string
  readonly count?: number
}

/** Hears of failures that only an operator can fix, with their cause. */
export type OnFault = (fault: Fault) => void

export interface Fault {
  readonly id: string
  readonly capability: string
  readonly failure: Failure
}

export const recordAudit =
  (ledger: Ledger, now: () => number, onFault: OnFault): Step =>
  async (call, next) => {
    const at = now()
    const outcome = await next(call)
    const { kind } = outcome
    const failure = kind === 'failed' ? outcome.failure : undefined
    const duration = now() - at
    // Only this much of the call lives on until it is written: the rest hangs on to its connection.
    const { id, caller, capability, fingerprint, given, trail } = call
    const kept = { id, caller, capability, fingerprint, given, trail }
    ledger.record(() => ({
      event: 'end',
      at,
      ...toWho(kept),
      outcome: kind,
      ...(failure && { code: failure.code }),
      duration,
      ...(trail.cost !== undefined && { cost: trail.cost }),
    }))
    if (failure?.fixedBy === 'operator') onFault({ id, capability: capability.name, failure })
    return outcome
  }

/** Written with the run it belongs to, in the same transaction. */
export const toBegin = (call: Call, at: number): AuditEntry => ({
  event: 'begin',
  at,
  ...toWho(call),
})

type Kept = Pick<Call, 'id' | 'caller' | 'capability' | 'fingerprint' | 'given' | 'trail'>

function toWho({ id, caller, capability, fingerprint, given, trail }: Kept) {
  const digest = findDigest({ given, trail })
  return {
    id,
    caller: caller.subject,
    capability: capability.name,
    source: capability.origin.source,
    fingerprint,
    ...(digest !== undefined && { digest }),
    ...(capability.rules.recordArguments && { arguments: given }),
    ...(trail.decisions.length > 0 && { decisions: trail.decisions }),
  }
}
