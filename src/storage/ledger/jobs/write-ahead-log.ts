import { closeSync, fdatasync, fstatSync, openSync, realpathSync } from 'node:fs'
import { promisify } from 'node:util'
import { DamageError, StorageError } from '../../../capability/storage-error.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'
import type { DamageGuard } from '../damage/damage-guard.ts'

/** A checkpoint is made after this many commits, or earlier when the log has this many bytes. */
const commitsPerCheckpoint = 256
const maxBytes = 16_777_216
/** How often the size of the log is looked at. */
const commitsPerLook = 8

/** Resolves when everything that was written to a file before the call is on disk. */
export type SyncFile = (descriptor: number) => Promise<void>

export interface LogOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  readonly database: Sqlite
  readonly guard: DamageGuard
  /** Default: `fdatasync`. */
  readonly syncFile?: SyncFile
  readonly onError: (error: unknown) => void
}

/**
 * The write-ahead log, which SQLite writes. It is flushed here, in the thread pool, so that the event loop does not
 * wait for the disk; and its commits are moved to the database file here (checkpoint), so that the guard knows
 * when that file changes.
 */
export class WriteAheadLog {
  readonly #options: LogOptions
  /** Absent for a store in memory. */
  readonly #descriptor: number | undefined
  readonly #sync: SyncFile
  #commitsSinceCheckpoint = 0

  /** Open it after the first commit: then the file exists, and stays as long as the database is open. */
  constructor(options: LogOptions) {
    const { file, database, syncFile = promisify(fdatasync) } = options
    this.#options = options
    this.#sync = syncFile
    // From now on, SQLite flushes only for checkpoints, and makes none itself.
    database.exec('pragma synchronous = normal')
    database.exec('pragma wal_autocheckpoint = 0')
    database.exec(`pragma journal_size_limit = ${maxBytes}`)
    if (file === ':memory:') return
    // SQLite puts the log beside the target of a symbolic link. Windows flushes only descriptors that can write.
    this.#descriptor = openSync(`${realpathSync(file)}-wal`, 'r+')
  }

  /** Resolves when all commits so far are on disk, and the witness says so; `undefined` for a store in memory. */
  flush(): Promise<void> | undefined {
    if (this.#descriptor === undefined) return undefined
    const { guard } = this.#options
    const { latest } = guard
    return this.#sync(this.#descriptor)
      .then(() => guard.attempt(() => guard.confirm(latest)))
      .catch((error: unknown) => {
        if (error instanceof StorageError) throw error
        // The work is committed, so nobody may run it again. And the kernel may have dropped what it could not
        // write: a second attempt would succeed without it.
        throw guard.report(
          new DamageError(
            `a commit cannot be confirmed to be on disk: ${(error as Error).message}`,
          ),
        )
      })
  }

  /** Runs after each commit. */
  checkpointIfDue(): void {
    const count = ++this.#commitsSinceCheckpoint
    if (count === commitsPerCheckpoint || (count % commitsPerLook === 0 && this.#isLarge()))
      this.#checkpoint()
  }

  #isLarge(): boolean {
    return this.#descriptor !== undefined && fstatSync(this.#descriptor).size > maxBytes
  }

  #checkpoint(): void {
    const { database, guard, onError } = this.#options
    this.#commitsSinceCheckpoint = 0
    try {
      guard.attempt(() => {
        guard.checkFiles()
        const result = database.prepare<CheckpointResult>('pragma wal_checkpoint(passive)').get()
        guard.confirmCheckpoint(result?.busy === 0 && result.log === result.checkpointed)
      })
    } catch (error) {
      if (!(error instanceof DamageError)) onError(error)
    }
  }

  /** The last checkpoint, which empties the log: one of the drivers makes none when it closes. */
  empty(): 'complete' | 'partial' {
    const { database, guard } = this.#options
    guard.attempt(() => guard.checkFiles())
    const result = database.prepare<CheckpointResult>('pragma wal_checkpoint(truncate)').get()
    return result?.busy === 0 ? 'complete' : 'partial'
  }

  /** SQLite holds no lock on this file, so closing a descriptor of it drops none. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
  }
}

/** Frames in the log, and how many of them are in the database file; -1 if there is no log. */
interface CheckpointResult {
  readonly busy: number
  readonly log: number
  readonly checkpointed: number
}
