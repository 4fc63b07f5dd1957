import type { IntentEnvelope } from '../envelope/envelope.ts'
import type { AgentResponse, ErrorInfo } from '../envelope/response.ts'

/** Somebody who watches what is routed. What they do changes nothing. */
export interface Hook {
  beforeRoute?(envelope: IntentEnvelope): unknown
  afterRoute?(envelope: IntentEnvelope, response: AgentResponse): unknown
  onError?(envelope: IntentEnvelope, error: ErrorInfo): unknown
}

export type Hooks = readonly Hook[]

/** In order, and nobody waits for them; one that fails is told of, and the others are run. */
export function runHooks(
  hooks: Hooks,
  onTrouble: (error: unknown) => void,
  run: (hook: Hook) => unknown,
): void {
  for (const hook of hooks)
    try {
      Promise.resolve(run(hook)).catch(onTrouble)
    } catch (error) {
      onTrouble(error)
    }
}
