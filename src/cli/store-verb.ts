import os from 'node:os'
import { openStore, type Store } from '../runtime/open-store.ts'
import { jsonFlag } from './open.ts'
import { say } from './print.ts'
import { UsageError } from './usage-error.ts'

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

export function readAction<Action extends string>(
  actions: readonly Action[],
  said: string,
): Action {
  const action = actions.find((one) => one === said)
  if (action === undefined)
    throw new UsageError(`There is no "${said}". There is: ${actions.join(', ')}`)
  return action
}

export function readState<State extends string>(
  states: readonly State[],
  said: string | undefined,
): State | undefined {
  const state = states.find((one) => one === said)
  if (said !== undefined && state === undefined)
    throw new UsageError(`There is no state "${said}". There is: ${states.join(', ')}`)
  return state
}

export function needId(verb: string, action: string, id: string | undefined): string {
  if (id === undefined) throw new UsageError(`Say which one: drawbridge ${verb} ${action} ID`)
  return id
}

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

/** The answer is no. */
export function no(problem: string): number {
  say(problem)
  return 1
}
