import type { JsonObject } from '../../../capability/json.ts'
import type { Intent } from './registry.ts'

/** What this node tells others that it serves: only what agents of its own serve. */
export const toAnnounced = (intents: readonly Intent[]): readonly JsonObject[] =>
  intents
    .filter(({ candidates }) => candidates.some(({ agent }) => !agent.remote))
    .map(({ name, version, candidates, effects }) => {
      const [{ offer } = { offer: undefined }] = candidates
      return {
        intent: name,
        version,
        ...(offer?.title !== undefined && { title: offer.title }),
        ...(offer?.description !== undefined && { description: offer.description }),
        ...(offer?.input && { inputSchema: offer.input.schema }),
        ...(offer?.output && { outputSchema: offer.output.schema }),
        effects: { ...effects },
      }
    })
