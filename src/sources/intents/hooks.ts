import type { IntentEnvelope } from './envelope.ts'
import type { AgentResponse, ErrorInfo } from './response.ts'

/** Somebody who watches what is routed. What they do changes nothing. */
export interface Hook {
  beforeRoute?(envelope: IntentEnvelope): unknown
  afterRoute?(envelope: IntentEnvelope, response: AgentResponse): unknown
  onError?(envelope: IntentEnvelope, error: ErrorInfo): unknown
}

export type Hooks = readonly Hook[]

/** In order; one that fails is told of, and the others are run all the same. */
export async function runHooks(
  hooks: Hooks,
  onTrouble: (error: unknown) => void,
  run: (hook: Hook) => unknown,
): Promise<void> {
  for (const hook of hooks)
    try {
      await run(hook)
    } catch (error) {
      onTrouble(error)
    }
}
