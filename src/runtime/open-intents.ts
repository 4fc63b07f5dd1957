import { type IntentSource, intentSource } from '../sources/intents/intent-source.ts'
import { type IntentsConfig, readKeys, toMapping } from './intent-keys.ts'
import type { ModuleLoader } from './load-modules.ts'

/** A source of intents from its configuration: local agents from modules, remote agents, and routing. */
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
