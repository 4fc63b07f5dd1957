import { existsSync, readFileSync, statSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { openSqlite } from '../sqlite/sqlite.ts'

/** Throws while another process has the store open: it would go on with the files that are moved away. */
export function refuseOpenStore(file: string): void {
  if (existsSync(file) && (isLockedForSqlite(file) || hasPosixLock(file)))
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

/** SQLite does not try to lock a file whose header is damaged. The kernel of Linux lists all locks. */
function hasPosixLock(file: string): boolean {
  const { ino } = statSync(file)
  try {
    return readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .some((line) => line.includes(`:${ino} `) && !line.includes(` ${process.pid} `))
  } catch {
    return false
  }
}
