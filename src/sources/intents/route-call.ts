import type { Call } from '../../capability/call.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import { NotJson } from './envelope/frozen-copy.ts'
import { routingFailed } from './failures.ts'
import type { Router } from './router/router.ts'
import { toOutcome } from './to-outcome.ts'

/** Milliseconds by which the router answers before whoever called it stops waiting. */
const grace = 250

/** How long a call may take whose router has so long. */
export const withGrace = (timeout: number): number => timeout + grace

export interface RoutedCall {
  readonly router: Router
  readonly source: string
  readonly call: Call
  readonly translate: () => IntentEnvelope
  /** Milliseconds, where the capability does not say. */
  readonly timeout: number
  /** Milliseconds for which whoever asks will wait. */
  readonly patience?: number | undefined
}

/** Translates, routes, translates back. It decides nothing. */
export async function routeCall(routed: RoutedCall): Promise<Outcome> {
  const { router, source, call, translate, patience = Number.MAX_SAFE_INTEGER } = routed
  let envelope: IntentEnvelope
  try {
    envelope = translate()
  } catch (error) {
    if (!(error instanceof NotJson)) throw error
    return routingFailed('VALIDATION_ERROR', `The arguments cannot be sent: ${error.message}.`)
  }
  const { id, address, caller, cancellation, capability } = call
  const { timeout = withGrace(routed.timeout) } = capability.rules
  return toOutcome(
    await router.route(envelope, {
      id,
      source,
      address,
      caller: caller.subject,
      cancellation,
      // An operator may want it faster than the agents do.
      timeout: Math.max(1, Math.min(patience, timeout - grace)),
    }),
  )
}
