import { Cancellation } from '../../capability/cancellation.ts'
import type { Fault } from '../../capability/fault.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import type { ExecutionLog } from './log/execution-log.ts'
import type { Resumption } from './log/resumption.ts'
import type { Router } from './router/router.ts'
import type { RoutedResponse } from './router/routing.ts'
import { toOutcome } from './to-outcome.ts'

export interface ResumeOptions {
  readonly router: Router | undefined
  readonly log: ExecutionLog | undefined
  readonly resumption: Resumption
  /** Operator who resumes it, for the log. */
  readonly by: string
}

export interface ResumedRouting {
  readonly routed: RoutedResponse
  readonly outcome: Outcome
}

/** Resumes an interrupted execution. The log's claim makes sure that only one process does. */
export async function resumeRouting(options: ResumeOptions): Promise<ResumedRouting | Fault> {
  const { router, log, resumption, by } = options
  if (!router || !log) return { fault: 'There is no execution log to resume from.' }
  const { begun } = resumption
  const { id, source, address, caller, decision } = begun
  if (!(await log.claim(id))) return { fault: `Another process is already resuming ${id}.` }
  const attempts = resumption.kind === 'continue' ? resumption.attempts : 0
  const cancellation = new Cancellation()
  const context = { id, source, address, caller, cancellation, resumed: { by, attempts } }
  // `toResumption` has rejected sealed payloads.
  const envelope = begun.envelope as IntentEnvelope
  const routed =
    resumption.kind === 'complete'
      ? await router.complete(envelope, context, { ...resumption, decision })
      : await router.route(envelope, context)
  return { routed, outcome: toOutcome(routed) }
}
