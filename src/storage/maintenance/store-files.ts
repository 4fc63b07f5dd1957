import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  unlinkSync,
} from 'node:fs'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'

/** The database, SQLite's files beside it, and the companions that belong to one state of it. */
export const storeSuffixes = ['', '-wal', '-shm', '.key', '.witness'] as const

export function syncFile(file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** A copy that only its owner can read, on disk. */
export function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, 0o600)
  syncFile(to)
}

/** Gives a finished draft its name. Without `force` an existing file is never replaced, not even in a race. */
export function publish(draft: string, file: string, force: boolean): void {
  if (force) renameSync(draft, file)
  else
    try {
      linkSync(draft, file)
      unlinkSync(draft)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      throw new SetupError(
        `${file} exists already. Choose another name, or replace it with --force.`,
      )
    }
  syncFile(path.dirname(file))
}

/**
 * Moves a database to another name, with copies of its companions. The companions stay: without a database
 * beside them, an interruption is found as damage, and no empty store is created. Returns the new names.
 */
export function setAside(file: string, target: string): readonly string[] {
  const present = storeSuffixes.filter((suffix) => existsSync(file + suffix))
  for (const suffix of present.toReversed())
    if (suffix.startsWith('.')) copyPrivately(file + suffix, target + suffix)
    else renameSync(file + suffix, target + suffix)
  syncFile(path.dirname(file))
  return present.map((suffix) => target + suffix)
}

/** A date for file names: `2026-11-18T07-05-09Z`. */
export const toFileDate = (now: number): string =>
  `${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}Z`
