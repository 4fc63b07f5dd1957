import { existsSync, renameSync, statSync } from 'node:fs'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import { startGeneration } from '../ledger/damage/start-generation.ts'
import { type BackupManifest, readManifest } from './backup-manifest.ts'
import { checkStore } from './check-store.ts'
import { digestFile } from './file-digest.ts'
import { keepEffects } from './keep-effects.ts'
import { recognizeStore } from './recognize-store.ts'
import { refuseOpenStore } from './refuse-open-store.ts'
import type { LostRow } from './salvage-table.ts'
import { copyPrivately, setAside, syncFile, toFileDate } from './store-files.ts'

export interface RestoreOptions {
  readonly file: string
  readonly backup: string
  /** The operator. */
  readonly by: string
  readonly now: () => number
}

export interface Restored {
  readonly kind: BackupManifest['kind']
  readonly file: string
  /** Time of the backup. Effects from then to `to` may be missing; milliseconds since the epoch. */
  readonly from: number
  readonly to: number
  /** The new generation of a ledger. */
  readonly generation?: number
  /** Rows of the replaced ledger that were kept, by table: effects and approvals since the backup. */
  readonly kept?: Readonly<Record<string, number>>
  /** What could not be kept; everything since the backup when the replaced ledger cannot be read. */
  readonly lost?: readonly LostRow[]
  /** Where the replaced files are now. */
  readonly replaced: readonly string[]
}

/**
 * Replaces a store by a backup, which is verified first. The replaced files are kept, and so are the effects
 * and approvals of the replaced ledger, as far as they can be read: they happened, whatever is restored.
 */
export function restoreStore({ file, backup, by, now }: RestoreOptions): Restored {
  const { kind, at: from } = verifyBackup(backup)
  refuseOpenStore(file)
  refuseOtherKind(file, kind)
  const to = now()
  const replacedCheck = checkStore(file)
  const draft = `${file}.restoring`
  copyPrivately(backup, draft)
  if (existsSync(`${backup}.key`)) copyPrivately(`${backup}.key`, `${draft}.key`)
  const aside = `${file}.replaced-${toFileDate(to)}`
  const replaced = setAside(file, aside)
  if (existsSync(`${draft}.key`)) renameSync(`${draft}.key`, `${file}.key`)
  renameSync(draft, file)
  syncFile(path.dirname(file))
  const result = { kind, file, from, to, replaced }
  if (kind === 'records') return result
  const { kept, lost } = keepEffects(file, aside)
  for (const { severity, where, message } of replacedCheck.findings)
    if (severity === 'error') lost.push({ table: '*', key: where, reason: message })
  const isLost = lost.length > 0
  const { generation } = startGeneration(file, {
    event: 'restored',
    by,
    at: to,
    ...(isLost && { from, count: lost.length }),
  })
  return { ...result, generation, kept, lost }
}

function verifyBackup(backup: string): BackupManifest {
  if (!existsSync(backup)) throw new SetupError(`There is no backup ${backup}.`)
  const manifest = readManifest(backup)
  if (statSync(backup).size !== manifest.bytes || digestFile(backup) !== manifest.sha256)
    throw new SetupError(`The backup ${backup} is damaged: it differs from its manifest.`)
  const { findings } = checkStore(backup)
  const problem = findings.find(({ severity }) => severity === 'error')
  if (problem)
    throw new SetupError(
      `The backup ${backup} cannot be used: ${problem.where}: ${problem.message}.`,
    )
  return manifest
}

function refuseOtherKind(file: string, kind: BackupManifest['kind']): void {
  const present = existsSync(file) ? recognizeStore(file) : undefined
  if (present !== undefined && present !== kind)
    throw new SetupError(
      `${file} is a ${toName(present)}, but the backup is one of a ${toName(kind)}. Name the store with --store.`,
    )
}

const toName = (kind: BackupManifest['kind']): string =>
  kind === 'records' ? 'records store' : kind
