import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'

/** Observes routing. Return values are ignored. */
export interface Hook {
  beforeRoute?(envelope: IntentEnvelope): unknown
  afterRoute?(envelope: IntentEnvelope, response: AgentResponse): unknown
  onError?(envelope: IntentEnvelope, error: ErrorInfo): unknown
}

export type Hooks = readonly Hook[]

/** Calls every hook in order without awaiting it; one that fails is reported and skipped. */
export function runHooks(
  hooks: Hooks,
  onTrouble: (error: unknown) => void,
  callHook: (hook: Hook) => unknown,
): void {
  for (const hook of hooks)
    try {
      Promise.resolve(callHook(hook)).catch(onTrouble)
    } catch (error) {
      onTrouble(error)
    }
}
