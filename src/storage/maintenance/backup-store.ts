import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  openSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { writeWitness } from '../ledger/damage/start-generation.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { type BackupManifest, toManifestFile } from './backup-manifest.ts'
import { digestFile } from './file-digest.ts'
import { requireKind } from './recognize-store.ts'
import { copyPrivately, publish, syncFile } from './store-files.ts'

export interface BackupOptions {
  readonly file: string
  readonly target: string
  /** Replaces an existing backup. */
  readonly force: boolean
  readonly now: () => number
}

export interface Backup extends BackupManifest {
  /** The files that make up the backup. */
  readonly files: readonly string[]
}

/**
 * Copies a store while it is in use. The copy is one snapshot (`vacuum into`), and contains everything that
 * was acknowledged before it started. The database gets its name last: an interrupted backup has none.
 */
export function backupStore({ file, target, force, now }: BackupOptions): Backup {
  const kind = requireKind(file)
  if (!force && existsSync(target))
    throw new SetupError(
      `${target} exists already. Choose another name, or replace it with --force.`,
    )
  if (existsSync(target) && realpathSync(target) === realpathSync(file))
    throw new SetupError('A store cannot be its own backup.')
  const draft = `${target}.draft-${randomBytes(6).toString('hex')}`
  const suffixes = ['.key', '.witness', '.manifest'] as const
  try {
    const at = now()
    copyDatabase(file, draft)
    if (existsSync(`${file}.key`)) copyPrivately(`${file}.key`, `${draft}.key`)
    if (kind === 'ledger') writeWitness(draft)
    const manifest = { kind, at, bytes: statSync(draft).size, sha256: digestFile(draft) }
    writeFileSync(toManifestFile(draft), `${JSON.stringify(manifest)}\n`, { mode: 0o600 })
    syncFile(toManifestFile(draft))
    const present = suffixes.filter((suffix) => existsSync(draft + suffix))
    if (force) for (const suffix of suffixes) rmSync(target + suffix, { force: true })
    for (const suffix of present) publish(draft + suffix, target + suffix, force)
    publish(draft, target, force)
    return { ...manifest, files: [target, ...present.map((suffix) => target + suffix)] }
  } finally {
    for (const suffix of ['', ...suffixes, '-wal', '-shm']) rmSync(draft + suffix, { force: true })
  }
}

function copyDatabase(file: string, target: string): void {
  try {
    // SQLite accepts an empty file, and keeps its permissions.
    closeSync(openSync(target, 'wx', 0o600))
  } catch (error) {
    throw new SetupError(`${target} cannot be created: ${(error as Error).message}`)
  }
  const database = openSqlite(file)
  try {
    database.exec('pragma busy_timeout = 5000')
    database.prepare('vacuum into ?').run(target)
  } finally {
    database.close()
  }
  syncFile(target)
}
