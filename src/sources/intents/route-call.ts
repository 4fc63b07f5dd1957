import type { Call } from '../../capability/call.ts'
import type { Outcome } from '../../capability/outcome.ts'
import type { IntentEnvelope } from './envelope/envelope.ts'
import { NotJsonError } from './envelope/frozen-copy.ts'
import { routingFailed } from './failures.ts'
import type { Router } from './router/router.ts'
import { toOutcome } from './to-outcome.ts'

/** The router must answer this much earlier than the pipeline's own timeout, or at half of a shorter one. */
const graceMs = 250

/** The pipeline's timeout for a call whose router has `timeoutMs`. */
export const withGrace = (timeoutMs: number): number => timeoutMs + graceMs

export interface RouteCallOptions {
  readonly router: Router
  readonly source: string
  readonly call: Call
  readonly buildEnvelope: () => IntentEnvelope
  /** Used when the capability's rules have no timeout. */
  readonly defaultTimeoutMs: number
  /** How long the remote caller waits, if it says so. */
  readonly callerTimeoutMs?: number | undefined
}

/** Converts a call to an envelope, routes it, and converts the response to an outcome. */
export async function routeCall(routedCall: RouteCallOptions): Promise<Outcome> {
  const { router, source, call, buildEnvelope, defaultTimeoutMs } = routedCall
  const { callerTimeoutMs = Number.MAX_SAFE_INTEGER } = routedCall
  let envelope: IntentEnvelope
  try {
    envelope = buildEnvelope()
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error
    return routingFailed('VALIDATION_ERROR', `The arguments are not valid JSON: ${error.message}.`)
  }
  const { id, address, caller, cancellation, capability } = call
  const { timeout = withGrace(defaultTimeoutMs) } = capability.rules
  return toOutcome(
    await router.route(envelope, {
      id,
      source,
      address,
      caller: caller.subject,
      cancellation,
      // The operator's rules may set a shorter timeout than the routing policy.
      timeout: Math.min(callerTimeoutMs, timeout - Math.min(graceMs, timeout / 2)),
    }),
  )
}
