import { type IntentSource, intentSource } from '../sources/intents/intent-source.ts'
import { type IntentsConfig, readKeys, toMapping } from './intent-keys.ts'
import type { ModuleLoader } from './load-modules.ts'

/** From configuration to a source: agents in modules, agents elsewhere, and how they are asked. */
export async function openIntents(
  config: IntentsConfig,
  loader: ModuleLoader,
  folder: string,
): Promise<IntentSource> {
  const { agents, keys, ...routing } = toMapping(config)
  const patterns = [agents].flat()
  return intentSource({
    ...routing,
    keys: await readKeys(keys, folder),
    ...(patterns.length > 0 && { agents: () => loader.loadAll(patterns, folder) }),
    id: patterns.length > 0 ? patterns.join(', ') : 'intents',
  })
}
