import path from 'node:path'
import { type Backup, backupStore } from '../../storage/maintenance/backup-store.ts'
import { checkStore, type StoreCheck } from '../../storage/maintenance/check-store.ts'
import { type Repaired, repairStore } from '../../storage/maintenance/repair-store.ts'
import { type Restored, restoreStore } from '../../storage/maintenance/restore-store.ts'
import { findConfig, toStore } from '../config/find-config.ts'

export type { Backup, Repaired, Restored, StoreCheck }

/** How an operator names a store: a file, or the configuration that uses it. */
export interface StoreName {
  readonly store?: string | undefined
  readonly what: string
}

type Environment = Readonly<Record<string, string | undefined>>

/** The ledger of a configuration and its records stores, or the named file alone. */
export async function checkStores(
  { store, what }: StoreName,
  environment: Environment,
): Promise<readonly StoreCheck[]> {
  if (store !== undefined) return [checkStore(path.resolve(store))]
  const configuration = await findConfig(what, environment)
  const { config, folder } = configuration
  const records = config.sources.flatMap((source) =>
    'records' in source && typeof source.records === 'string'
      ? [path.resolve(folder, source.records)]
      : [],
  )
  return [...new Set([toStore(configuration), ...records])].map(checkStore)
}

export async function backUp(
  name: StoreName,
  { target, force }: { readonly target: string; readonly force: boolean },
  environment: Environment,
): Promise<Backup> {
  const file = await toFile(name, environment)
  return backupStore({ file, target: path.resolve(target), force, now: Date.now })
}

export async function restore(
  name: StoreName,
  { backup, by }: { readonly backup: string; readonly by: string },
  environment: Environment,
): Promise<Restored> {
  const file = await toFile(name, environment)
  return restoreStore({ file, backup: path.resolve(backup), by, now: Date.now })
}

export async function repair(
  name: StoreName,
  by: string,
  environment: Environment,
): Promise<Repaired> {
  return repairStore({ file: await toFile(name, environment), by, now: Date.now })
}

const toFile = async ({ store, what }: StoreName, environment: Environment): Promise<string> =>
  store === undefined ? toStore(await findConfig(what, environment)) : path.resolve(store)
