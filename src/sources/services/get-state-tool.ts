import type { Call } from '../../capability/call.ts'
import type { Capability } from '../../capability/capability.ts'
import { readOnly } from '../../capability/effects.ts'
import { done, type Outcome } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { ownContract } from '../../contracts/own-contract.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { serviceFailed } from './failures.ts'
import type { ExposedState } from './to-view.ts'

/** All states of a graph, and how they are exposed. */
export interface ExposedStates {
  readonly states: readonly ExposedState[]
  /** `true` if each state is also a resource. */
  readonly areViews: boolean
}

/** A tool that returns the current states, for hosts that do not support resources. */
export const toGetStateTool = (source: string, states: () => ExposedStates): Capability =>
  Object.freeze({
    name: 'get_state',
    description:
      'Returns the current state of the application, as an object of states by name. Pass a key to get one state.',
    input: ownContract({
      type: 'object',
      properties: {
        key: { type: 'string', description: 'The name of one state. Default: all states.' },
      },
      additionalProperties: false,
    }),
    effects: readOnly,
    rules: noRules,
    origin: { source, pointer: '/states' },
    extras: {},
    invoke: async (call: Call) => toOutcome(call, states()),
  })

function toOutcome(call: Call, { states, areViews }: ExposedStates): Outcome {
  const key = isPlainObject(call.input) ? call.input.key : undefined
  // Callers see only the states that they may also read as resources.
  const readableUris = new Set(call.listing.views().map(({ uri }) => uri))
  const visibleStates = areViews ? states.filter(({ view }) => readableUris.has(view.uri)) : states
  const selectedStates =
    key === undefined ? visibleStates : visibleStates.filter(({ name }) => name === key)
  if (key !== undefined && selectedStates.length === 0) {
    const available = visibleStates.map(({ name }) => name)
    const message = `Unknown state ${JSON.stringify(key)}. Available: ${available.join(', ') || 'none'}.`
    return serviceFailed('unknown_state', message, { details: { available } })
  }
  return done(Object.fromEntries(selectedStates.map(({ name, text }) => [name, JSON.parse(text)])))
}
