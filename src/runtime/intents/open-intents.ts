import type { Source } from '../../capability/source.ts'
import type { IntentOptions } from '../../sources/intents/intent-options.ts'
import { intentSource } from '../../sources/intents/intent-source.ts'
import type { ModuleLoader } from '../modules/load-modules.ts'
import { type IntentsConfig, readKeys, toMapping } from './intent-keys.ts'

/** A source of intents from its configuration: local agents from modules, remote agents, and routing. */
export async function openIntents(
  config: IntentsConfig,
  loader: ModuleLoader,
  folder: string,
): Promise<Source> {
  const { agents, keys, ...routing } = toMapping(config)
  const patterns = [agents].flat()
  return intentSource({
    ...routing,
    keys: await readKeys(keys, folder),
    ...(patterns.length > 0 && { agents: () => loader.loadAll(patterns, folder) }),
    id: patterns.length > 0 ? patterns.join(', ') : 'intents',
  } as IntentOptions)
}
