import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'

/** Observes routing. Return values are ignored, and an error it throws changes nothing. */
export interface RoutingHook {
  /** Called before an agent is chosen. */
  beforeRoute?(envelope: IntentEnvelope): unknown
  /** Called with the response, of an agent or of the router itself. */
  afterRoute?(envelope: IntentEnvelope, response: AgentResponse): unknown
  /** Called after `afterRoute` when the response is an error. */
  onError?(envelope: IntentEnvelope, error: ErrorInfo): unknown
}

/** Calls every hook in order without awaiting it; one that fails is reported and skipped. */
export function runHooks(
  hooks: readonly RoutingHook[],
  onOperationalError: (error: unknown) => void,
  callHook: (hook: RoutingHook) => unknown,
): void {
  for (const hook of hooks)
    try {
      Promise.resolve(callHook(hook)).catch(onOperationalError)
    } catch (error) {
      onOperationalError(error)
    }
}
