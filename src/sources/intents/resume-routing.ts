import { Cancellation } from '../../capability/cancellation.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import type { ExecutionLog } from './log/execution-log.ts'
import type { Resumption } from './log/resumption.ts'
import type { Router } from './router/router.ts'
import type { Routed } from './router/routing.ts'
import { toOutcome } from './to-outcome.ts'

export interface ResumeOptions {
  readonly router: Router | undefined
  readonly log: ExecutionLog | undefined
  readonly resumption: Exclude<Resumption, { kind: 'refused' }>
  /** Who wants it. */
  readonly by: string
}

export type ResumedRouting =
  | { readonly refused: string }
  | { readonly routed: Routed; readonly outcome: Outcome }

/** Goes on with what another process began: only one of those who want to can. */
export async function resumeRouting(options: ResumeOptions): Promise<ResumedRouting> {
  const { router, log, resumption, by } = options
  if (!router || !log) return { refused: 'There is no log to resume from.' }
  const { begun } = resumption
  const { id, source, address, caller, decision } = begun
  if (!(await log.claim(id))) return { refused: `Somebody else is at ${id}.` }
  const attempts = resumption.kind === 'continue' ? resumption.attempts : 0
  const cancellation = new Cancellation()
  const around = { id, source, address, caller, cancellation, resumed: { by, attempts } }
  // Its payload was opened, or was never sealed.
  const envelope = begun.envelope as IntentEnvelope
  const routed =
    resumption.kind === 'complete'
      ? await router.complete(envelope, around, { ...resumption, decision })
      : await router.route(envelope, around)
  return { routed, outcome: toOutcome(routed) }
}
