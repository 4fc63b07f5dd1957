import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import type { Intent } from './registry.ts'

/** The intents this node announces to others: those that its local agents serve. */
export const toAnnouncedCapabilities = (intents: readonly Intent[]): readonly JsonObject[] =>
  intents
    .filter(({ candidates }) => candidates.some(({ agent }) => !agent.remote))
    .map(({ name, version, candidates, effects }) => {
      const [{ offer } = { offer: undefined }] = candidates
      return dropUndefined({
        intent: name,
        version,
        title: offer?.title,
        description: offer?.description,
        inputSchema: offer?.input?.schema,
        outputSchema: offer?.output?.schema,
        effects: { ...effects },
      })
    })
