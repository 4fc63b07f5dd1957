import { dropUndefined } from '../../json/drop-undefined.ts'
import { refused } from '../failures.ts'
import type { Check } from './check.ts'

/** Lists the parts that differ between two fingerprints; `undefined` when the former is unknown. */
export type CompareDefinitions = (
  capability: string,
  former: string,
  present: string,
) => readonly string[] | undefined

/** Compare-and-call: refuses a client whose expected fingerprint is not the current one. */
export const checkDefinition = (compare: CompareDefinitions): Check => ({
  name: 'definition',
  enforcedWhenObserving: true,
  decide(call) {
    const { fingerprint, capability } = call
    if (call.expectedFingerprint === undefined || call.expectedFingerprint === fingerprint)
      return { passes: call }
    const changedParts = compare(capability.name, call.expectedFingerprint, fingerprint)
    const reason = changedParts
      ? `Changed: ${changedParts.join(', ')}.`
      : 'The fingerprint you sent is unknown to this server.'
    const message = `The definition of ${capability.name} is not the one you expect. ${reason} List the tools again and call it with the current definition.`
    const details = dropUndefined({
      expected: call.expectedFingerprint,
      actual: fingerprint,
      changed: changedParts,
    })
    return { ends: refused('definition_changed', message, { details, retryable: true }) }
  },
})
