import os from 'node:os'
import { openStore, type Store } from '../../runtime/open-store.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { say } from '../terminal/print.ts'

/** What all verbs take that look into a store: what to do, with which one, and where it is. */
export const storeArguments = (actions: readonly string[], { as }: { readonly as: string }) =>
  ({
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: actions.join(', '),
    },
    id: { type: 'positional', required: false, description: 'which one' },
    what: { type: 'string', default: '.', description: 'the configuration whose store is meant' },
    as: { type: 'string', description: as },
    json: jsonFlag,
  }) as const

export const readWho = (said: string | undefined): string => said ?? os.userInfo().username

export async function withStore(
  what: string,
  work: (store: Store) => number | Promise<number>,
): Promise<number> {
  const store = await openStore(what, process.env, (error) => say(String(error)))
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
