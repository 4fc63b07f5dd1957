import os from 'node:os'
import { SetupError } from '../../capability/setup-error.ts'
import { StorageError } from '../../capability/storage-error.ts'
import { type OperatorStore, openStore } from '../../runtime/store/open-store.ts'
import { exitCodes } from '../exit-codes.ts'
import { jsonFlag } from '../terminal/flags.ts'
import { printMessage } from '../terminal/print.ts'

/** Arguments of all verbs that work on a store: the action, the id, and the configuration. */
export const storeArguments = (actions: readonly string[], { id, as }: StoreDescriptions) =>
  ({
    action: {
      type: 'positional',
      required: false,
      default: 'list',
      description: actions.join(', '),
    },
    id: { type: 'positional', required: false, description: id },
    what: { type: 'string', default: '.', description: 'the configuration whose store is used' },
    as: { type: 'string', description: as },
    json: jsonFlag,
  }) as const

interface StoreDescriptions {
  readonly id: string
  readonly as: string
}

/** The name to record: the value of `--as`, or the user name of the operating system. */
export const toOperator = (flag: string | undefined): string => flag ?? os.userInfo().username

/** `undefined` in a container whose user id has no name. */
export function findUserName(): string | undefined {
  try {
    return os.userInfo().username
  } catch {
    return undefined
  }
}

export async function withStore(
  what: string,
  work: (store: OperatorStore) => number | Promise<number>,
): Promise<number> {
  const printed = new Set<string>()
  const store = await openStore(what, process.env, (error) => {
    const message = error instanceof Error ? error.message : String(error)
    printed.add(message)
    printMessage(message)
  })
  try {
    return await work(store)
  } catch (error) {
    if (!(error instanceof StorageError)) throw error
    if (printed.has(error.message)) return exitCodes.setupError
    throw new SetupError(error.message)
  } finally {
    await store.close()
  }
}
