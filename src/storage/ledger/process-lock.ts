import { existsSync, rmSync } from 'node:fs'
import { openSqlite } from '../sqlite/sqlite.ts'

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
  const database = openSqlite(file)
  try {
    database.exec('pragma busy_timeout = 0')
    database.exec('pragma journal_mode = memory')
    database.exec('begin exclusive')
    return false
  } catch {
    return true
  } finally {
    database.close()
  }
}

export const removeLock = (store: string, processId: string): void =>
  rmSync(toLockFile(store, processId), { force: true })

const toLockFile = (store: string, processId: string): string => `${store}-process-${processId}`
