import type { Source } from '../../capability/source.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import type { IntentOptions } from '../../sources/intents/intent-options.ts'
import { intentSource } from '../../sources/intents/intent-source.ts'
import type { SourceContext } from '../open-sources.ts'
import { type IntentsConfig, readKeys, toMapping } from './intent-keys.ts'

/** A source of intents from its configuration: local agents from modules, remote agents, and routing. */
export async function openIntents(
  config: IntentsConfig,
  { loader, folder, unset }: Pick<SourceContext, 'loader' | 'folder' | 'unset'>,
): Promise<Source> {
  const { agents, keys, discover, ...routing } = toMapping(config)
  const patterns = [agents].flat()
  return intentSource({
    ...routing,
    // To discover agents is to connect, which nothing may do with a placeholder.
    ...dropUndefined({ discover: unset?.areIn(config) ? undefined : discover }),
    keys: await readKeys(keys, folder),
    ...(patterns.length > 0 && { agents: () => loader.loadAll(patterns, folder) }),
    id: patterns.length > 0 ? patterns.join(', ') : 'intents',
  } as IntentOptions)
}
