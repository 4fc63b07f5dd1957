import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { openSqlite, type Sqlite } from '../../sqlite/sqlite.ts'

/** A file beside the store that a process keeps locked while it lives. */
export interface ProcessLock {
  release(): void
}

/**
 * Locks the file of a process. The kernel releases the lock when the process ends, however it ends, and
 * shows it to other PID namespaces. SQLite takes the lock because Node has no function for it.
 */
export function lockProcess(store: string, processId: string): ProcessLock {
  const file = toLockFile(store, processId)
  const database = openSqlite(file)
  database.exec('pragma journal_mode = memory')
  database.exec('begin exclusive')
  return {
    release: () => {
      // Before the lock is released: another process may already look at it.
      rmSync(file, { force: true })
      database.close()
    },
  }
}

/** `undefined` if there is no lock file, so that nothing can be said. */
export function holdsLock(store: string, processId: string): boolean | undefined {
  const file = toLockFile(store, processId)
  if (!existsSync(file)) return undefined
  let database: Sqlite | undefined
  try {
    database = openSqlite(file)
    database.exec('pragma busy_timeout = 0')
    database.exec('pragma journal_mode = memory')
    database.exec('begin exclusive')
    return false
  } catch {
    return true
  } finally {
    database?.close()
  }
}

export const removeLock = (store: string, processId: string): void =>
  rmSync(toLockFile(store, processId), { force: true })

/**
 * Removes the files of ended processes that the store does not know: they were killed before they were
 * registered, or the store was repaired since. Processes that it knows keep theirs, as proof that they ended.
 */
export function removeStaleLocks(store: string, isKnown: (processId: string) => boolean): void {
  for (const processId of listLocks(store))
    if (!isKnown(processId) && holdsLock(store, processId) === false) removeLock(store, processId)
}

function listLocks(store: string): readonly string[] {
  const prefix = toLockFile(path.basename(store), '')
  try {
    return readdirSync(path.dirname(store))
      .filter((name) => name.startsWith(prefix))
      .map((name) => name.slice(prefix.length))
      .filter((id) => uuidPattern.test(id))
  } catch {
    // A folder that cannot be listed is no reason not to start.
    return []
  }
}

const uuidPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

const toLockFile = (store: string, processId: string): string => `${store}-process-${processId}`
