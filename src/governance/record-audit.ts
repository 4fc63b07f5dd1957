import type { Failure } from '../capability/failure.ts'
import type { Outcome } from '../capability/outcome.ts'
import type { Step } from './step.ts'

/** Where every call is written down. */
export interface Audit {
  record(entry: AuditEntry): void
}

export interface AuditEntry {
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly subject: string
  readonly capability: string
  readonly source: string
  readonly outcome: Outcome['kind']
  readonly failure?: Failure
  /** Milliseconds. */
  readonly duration: number
}

export const recordAudit =
  (audit: Audit, now: () => number): Step =>
  async (call, next) => {
    const at = now()
    const outcome = await next(call)
    const { id, caller, capability } = call
    audit.record({
      id,
      at,
      subject: caller.subject,
      capability: capability.name,
      source: capability.origin.source,
      outcome: outcome.kind,
      ...(outcome.kind === 'failed' && { failure: outcome.failure }),
      duration: now() - at,
    })
    return outcome
  }
