import { existsSync, readFileSync, statSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { openSqlite } from '../sqlite/sqlite.ts'

/**
 * Throws while another process has the store open: it would go on with the files that are moved away. Call it
 * before this process opens the store.
 */
export function refuseOpenStore(file: string): void {
  if (!existsSync(file)) return
  const holders = listLockHolders(file)
  const isOpenElsewhere = holders.some((pid) => pid !== process.pid)
  // One of the drivers keeps the lock of a closed connection of this process until garbage collection.
  if (isOpenElsewhere || (isLockedForSqlite(file) && !holders.includes(process.pid)))
    throw new SetupError(
      `The store ${file} is open in another process. Stop the servers that use it, and try again.`,
    )
}

/** In WAL mode every connection holds a shared lock on the database, so an exclusive one is refused. */
function isLockedForSqlite(file: string): boolean {
  const database = openSqlite(file)
  try {
    database.exec('pragma locking_mode = exclusive')
    database.exec('begin exclusive')
    database.exec('rollback')
    return false
  } catch (error) {
    // Any other error is damage, and says nothing about other processes.
    return /locked|busy/i.test((error as Error).message)
  } finally {
    database.close()
  }
}

/** Linux lists the holders of locks, also for a file whose header is damaged, which SQLite does not lock. */
function listLockHolders(file: string): readonly number[] {
  const { ino } = statSync(file)
  try {
    return readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .filter((line) => line.includes(`:${ino} `))
      .map((line) => Number(/ (\d+) \S+:\d+ /.exec(line)?.[1]))
  } catch {
    return []
  }
}
