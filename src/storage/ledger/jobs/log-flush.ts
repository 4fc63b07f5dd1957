import { closeSync, fdatasync, fstatSync, openSync, realpathSync } from 'node:fs'
import { promisify } from 'node:util'

/** Resolves when everything that was written to a file before the call is on disk. */
export type SyncFile = (descriptor: number) => Promise<void>

/**
 * Flushes the write-ahead log in the thread pool, so that the event loop does not wait for the disk. Open it
 * after the first commit: then the file exists, and stays as long as the database is open.
 */
export class LogFlush {
  readonly #descriptor: number
  readonly #sync: SyncFile

  constructor(file: string, sync: SyncFile = promisify(fdatasync)) {
    // SQLite puts the log beside the target of a symbolic link. Windows flushes only descriptors that can write.
    this.#descriptor = openSync(`${realpathSync(file)}-wal`, 'r+')
    this.#sync = sync
  }

  flush(): Promise<void> {
    return this.#sync(this.#descriptor)
  }

  /** Size of the log in bytes. */
  get size(): number {
    return fstatSync(this.#descriptor).size
  }

  /** SQLite holds no lock on this file, so closing a descriptor of it drops none. */
  close(): void {
    closeSync(this.#descriptor)
  }
}
