import type { Call } from '../../capability/call.ts'
import type { Caller } from '../../capability/caller.ts'
import type { Capability } from '../../capability/capability.ts'
import type { Failure } from '../../capability/failure.ts'
import { type Digestible, tryDigestArguments } from '../digest.ts'
import type { AuditEntry, Ledger } from '../ledger.ts'
import type { Step } from './step.ts'

/** Receives the failures that only an operator can fix, with their cause. */
export type OnOperatorFailure = (failure: OperatorFailure) => void

/** A failed call that only the operator can fix, or whose outcome is unknown. */
export interface OperatorFailure {
  /** Id of the call; the result gives it to the caller as a reference. */
  readonly id: string
  /** Name of the capability. */
  readonly capability: string
  /** The failure, with its cause. */
  readonly failure: Failure
}

export const recordAudit =
  (ledger: Ledger, now: () => number, onOperatorFailure: OnOperatorFailure): Step =>
  async (call, next) => {
    const at = now()
    const outcome = await next(call)
    const { kind } = outcome
    const failure = kind === 'failed' ? outcome.failure : undefined
    const duration = now() - at
    // Retain only these fields until the entry is written: a call references its connection.
    const { id, capability } = call
    const auditedCall: AuditedCall = {
      id,
      caller: call.caller,
      capability,
      fingerprint: call.fingerprint,
      rawInput: call.rawInput,
      auditTrail: call.auditTrail,
    }
    ledger.record(() => ({
      event: 'end',
      at,
      ...toCommonFields(auditedCall),
      outcome: kind,
      ...(failure && { code: failure.code }),
      duration,
      ...(auditedCall.auditTrail.cost !== undefined && { cost: auditedCall.auditTrail.cost }),
    }))
    if (failure && isForOperator(failure))
      onOperatorFailure({ id, capability: capability.name, failure })
    return outcome
  }

/** A call with an unknown outcome has a cause too, which the model does not get. */
const isForOperator = ({ fixedBy, code, cause }: Failure): boolean =>
  fixedBy === 'operator' || (code === 'outcome_unknown' && cause !== undefined)

/** Written in the same transaction as the run it belongs to. */
export const toBeginEntry = (call: Call, at: number): AuditEntry => ({
  event: 'begin',
  at,
  ...toCommonFields(call),
})

interface AuditedCall extends Digestible {
  readonly id: string
  readonly caller: Caller
  readonly capability: Capability
  readonly fingerprint: string
}

function toCommonFields(call: AuditedCall) {
  const { id, caller, capability, fingerprint } = call
  const { decisions } = call.auditTrail
  const digest = tryDigestArguments(call)
  return {
    id,
    caller: caller.subject,
    capability: capability.name,
    source: capability.origin.source,
    fingerprint,
    ...(digest !== undefined && { digest }),
    ...(capability.rules.recordArguments && { arguments: call.rawInput }),
    ...(decisions.length > 0 && { decisions }),
  }
}
