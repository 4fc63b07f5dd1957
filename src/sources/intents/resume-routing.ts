import { Cancellation } from '../../capability/cancellation.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import type { ExecutionLog, ExecutionReader, LoggedExecution } from './log/execution-log.ts'
import { type Resumption, toResumption } from './log/resumption.ts'
import type { Router } from './router/router.ts'
import type { RoutedResponse } from './router/routing.ts'
import { toOutcome } from './to-outcome.ts'

export interface ResumeContext {
  readonly sources: readonly ResumableSource[]
  readonly verify: ExecutionReader['verify']
  /** Operator who resumes it, for the log. */
  readonly by: string
}

/** A source that executes intents. */
export interface ResumableSource {
  readonly id: string
  resume(resumption: Resumption, by: string): Promise<ResumedRouting | Fault>
}

/** Resumes an interrupted execution on the source that began it. */
export async function resumeExecution(
  execution: LoggedExecution,
  { sources, verify, by }: ResumeContext,
): Promise<ResumedRouting | Fault> {
  const resumption = toResumption(execution)
  if (isFault(resumption)) return resumption
  // A log that was tampered with must not cause any effect.
  const { broken } = verify()
  if (broken) return { fault: `Event ${broken.number} of the log: ${broken.reason}.` }
  const { source: sourceId } = resumption.begun
  const source = sources.find(({ id }) => id === sourceId)
  return source
    ? source.resume(resumption, by)
    : { fault: `The source ${sourceId} is no longer configured.` }
}

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

/** Routes the rest of an interrupted execution. The log's claim makes sure that only one process does. */
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
