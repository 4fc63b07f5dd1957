import { existsSync, statSync } from 'node:fs'
import { storeSuffixes } from './store-files.ts'

/** Something that is wrong with a store, and what to do about it. */
export interface Finding {
  readonly severity: 'error' | 'warning'
  /** The part of the store: a file, a table or a chain. */
  readonly where: string
  readonly message: string
  /** The next step. */
  readonly next: string
}

/** Stores hold results of tools, personal records and secrets: only their owner should read them. */
export const checkPermissions = (file: string): Finding[] =>
  [...storeSuffixes, '.approver']
    .map((suffix) => file + suffix)
    .filter((name) => existsSync(name) && (statSync(name).mode & 0o077) !== 0)
    .map((name) => ({
      severity: 'warning',
      where: name,
      message: 'other users can read or write this file',
      next: `Run "chmod 600 ${name}".`,
    }))
