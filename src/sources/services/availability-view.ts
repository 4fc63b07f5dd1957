import type { Call } from '../../capability/call.ts'
import type { View } from '../../capability/capability.ts'
import { reads } from '../../capability/effects.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { toUri } from './address.ts'
import { anyObject } from './contracts.ts'

/** Where the list stays the same, which of it can be used now is something to read. */
export const toAvailabilityView = (source: string, isAvailable: (name: string) => boolean): View =>
  Object.freeze({
    name: 'availability',
    description: 'Which actions are available now, and which are not.',
    input: anyObject,
    effects: reads,
    rules: noRules,
    origin: { source, pointer: '/actions' },
    extras: {},
    uri: toUri(source, 'availability'),
    mimeType: 'application/json',
    invoke: async (call: Call) => {
      const actions = call.reach
        .capabilities()
        .filter(({ origin }) => origin.source === source && origin.pointer.includes('/actions/'))
      const pick = (wanted: boolean) =>
        actions
          .filter(({ name, origin }) => isAvailable(origin.name ?? name) === wanted)
          .map(({ name }) => name)
      return done({ available: pick(true), unavailable: pick(false) })
    },
  })
