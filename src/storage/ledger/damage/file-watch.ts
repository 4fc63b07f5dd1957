import { realpathSync, type Stats, statSync } from 'node:fs'
import { DamageError } from '../../../capability/storage-error.ts'

/**
 * Notices a database file that changes without a checkpoint, and files that are deleted or replaced. Uses
 * `stat` only: closing a descriptor of the database drops the POSIX locks of SQLite.
 */
export class FileWatch {
  readonly #file: string
  readonly #inodes: readonly Inode[]
  #stamp: string

  /** Starts after the first commit: then all three files exist. `stamp` is from before the file was checked. */
  constructor(file: string, witness: string, stamp: string) {
    // SQLite puts the log beside the target of a symbolic link.
    this.#file = realpathSync(file)
    const paths = [this.#file, `${this.#file}-wal`, witness]
    this.#inodes = paths.map((path) => ({ path, inode: this.#stat(path).ino }))
    this.#stamp = stamp
  }

  /** After a checkpoint of this process. */
  remember(): void {
    this.#stamp = toStamp(this.#stat(this.#file))
  }

  /** State of the database file after the last checkpoint of this process. */
  get stamp(): string {
    return this.#stamp
  }

  /** Throws when a file was deleted or replaced. Returns the state of the database file if it has changed. */
  findChange(): string | undefined {
    for (const { path, inode } of this.#inodes)
      if (this.#stat(path).ino !== inode)
        throw new DamageError(`${path} was replaced while it was open`)
    const stamp = toStamp(this.#stat(this.#file))
    return stamp === this.#stamp ? undefined : stamp
  }

  #stat(path: string): Stats {
    const stats = statSync(path, { throwIfNoEntry: false })
    if (!stats) throw new DamageError(`${path} was deleted while it was open`)
    return stats
  }
}

interface Inode {
  readonly path: string
  readonly inode: number
}

/** Changes with every write to the file. Unlike the time of change (ctime), that of modification can be set. */
export const readStamp = (file: string): string => toStamp(statSync(file))

/** In the witness: the file was closed in this state, and all its rows are sound. */
export const toClosedStamp = (stamp: string): string => `${stamp}:closed`

/** The stamp of a file that was not checked. */
export const uncheckedStamp = '-'

const toStamp = ({ size, mtimeMs, ctimeMs }: Stats): string => `${size}:${mtimeMs}:${ctimeMs}`
