import type { Failure } from '../../capability/failure.ts'
import { toEndText } from '../audit-entry.ts'
import type { Ledger } from '../ledger.ts'
import type { Interceptor } from './interceptor.ts'

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

/** Notes when a call arrives, and records how it ends. */
export function recordAudit(ledger: Ledger, onOperatorFailure: OnOperatorFailure): Interceptor {
  const { now, toCalendar } = ledger.clock
  return {
    enter(call) {
      call.auditTrail.startedAt = now()
      return call
    },
    leave(call, outcome) {
      const endedAt = now()
      const { startedAt = endedAt } = call.auditTrail
      const { kind } = outcome
      const failure = kind === 'failed' ? outcome.failure : undefined
      // Retain only these fields until the entry is written: a call references its connection.
      const { id, caller, capability, fingerprint, rawInput, auditTrail } = call
      const audited = { id, caller, capability, fingerprint, rawInput, auditTrail }
      const duration = endedAt - startedAt
      const code = failure?.code
      ledger.record(() => toEndText(audited, toCalendar(startedAt), { kind, code, duration }))
      if (failure && isForOperator(failure))
        onOperatorFailure({ id, capability: capability.name, failure })
      return outcome
    },
  }
}

/** A call with an unknown outcome has a cause too, which the model does not get. */
const isForOperator = ({ fixedBy, code, cause }: Failure): boolean =>
  fixedBy === 'operator' || (code === 'outcome_unknown' && cause !== undefined)
