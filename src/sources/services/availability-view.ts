import type { Call } from '../../capability/call.ts'
import type { View } from '../../capability/capability.ts'
import { readOnly } from '../../capability/effects.ts'
import { done } from '../../capability/outcome.ts'
import { noRules } from '../../capability/rules.ts'
import { toUri } from './address.ts'
import { anyObject } from './contracts.ts'

/** With `visibility: stable` the tool list is constant; this view tells which tools can be called now. */
export const toAvailabilityView = (source: string, isAvailable: (name: string) => boolean): View =>
  Object.freeze({
    name: 'availability',
    description: 'Which actions are available now, and which are not.',
    input: anyObject,
    effects: readOnly,
    rules: noRules,
    origin: { source, pointer: '/actions' },
    extras: {},
    uri: toUri(source, 'availability'),
    mimeType: 'application/json',
    invoke: async (call: Call) => {
      const actions = call.listing
        .capabilities()
        .filter(({ origin }) => origin.source === source && origin.pointer.includes('/actions/'))
      const namesWhere = (available: boolean) =>
        actions
          .filter(({ name, origin }) => isAvailable(origin.name ?? name) === available)
          .map(({ name }) => name)
      return done({ available: namesWhere(true), unavailable: namesWhere(false) })
    },
  })
