import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import { reads } from '../../capability/effects.ts'
import { isPlainObject } from '../../capability/json.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { toContract } from './contracts.ts'
import { serviceFailed } from './failures.ts'
import type { ExposedState } from './to-view.ts'

export interface ExposedStates {
  readonly states: readonly ExposedState[]
  /** Whether each can be read at its address too. */
  readonly areViews: boolean
}

/** The states as they are now, for hosts that show nothing but tools. */
export const toGetStateTool = (source: string, states: () => ExposedStates): Capability =>
  Object.freeze({
    name: 'get_state',
    description:
      'Returns what is true in the application now, as an object of states by name. Say a key to get only that state.',
    input: toContract({
      type: 'object',
      properties: {
        key: { type: 'string', description: 'The name of one state; all without it.' },
      },
      additionalProperties: false,
    }),
    effects: reads,
    rules: noRules,
    origin: { source, pointer: '/states' },
    extras: {},
    invoke: async (call: Call) => answer(call, states()),
  })

function answer(call: Call, { states, areViews }: ExposedStates): Outcome {
  const key = isPlainObject(call.input) ? call.input.key : undefined
  // Nobody is shown here what they could not read there.
  const readable = new Set(call.reach.views().map(({ uri }) => uri))
  const visible = areViews ? states.filter(({ view }) => readable.has(view.uri)) : states
  const chosen = key === undefined ? visible : visible.filter(({ name }) => name === key)
  if (key !== undefined && chosen.length === 0) {
    const available = visible.map(({ name }) => name)
    const message = `There is no state ${JSON.stringify(key)} now. There is: ${available.join(', ') || 'none'}.`
    return serviceFailed('unknown_state', message, { details: { available } })
  }
  return done(Object.fromEntries(chosen.map(({ name, text }) => [name, JSON.parse(text)])))
}
