import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { SetupError } from '../../capability/setup-error.ts'
import { readOrCreateSecret, readSecret } from '../companion-files.ts'
import { startGeneration } from '../ledger/damage/start-generation.ts'
import { latestVersion, migrate, prepareLedger, readVersion } from '../ledger/ledger-schema.ts'
import { removeStaleLocks } from '../ledger/processes/process-lock.ts'
import { isRecordsHeader, prepareRecords } from '../records/record-schema.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { openDamagedCopy } from './damaged-copy.ts'
import { recognizeStore, type StoreKind } from './recognize-store.ts'
import { refuseOpenStore } from './refuse-open-store.ts'
import type { Repair } from './repair.ts'
import { type RepairKey, repairLedger } from './repair-ledger.ts'
import { repairRecords } from './repair-records.ts'
import type { LostRow } from './salvage-table.ts'
import { setAside, syncFile, toFileDate } from './store-files.ts'

export interface RepairOptions {
  readonly file: string
  /** The operator. */
  readonly by: string
  readonly now: () => number
}

export interface Repaired {
  readonly kind: StoreKind
  readonly file: string
  /** Number of saved rows, by table. */
  readonly saved: Readonly<Record<string, number>>
  /** Rows that could not be read, or that are not trusted. */
  readonly lost: readonly LostRow[]
  /** Where the damaged files are now. */
  readonly damaged: readonly string[]
  /** The new generation of a ledger. */
  readonly generation?: number
}

/** Saves what can be read of a damaged store into a new file, and puts it in its place. */
export function repairStore({ file, by, now }: RepairOptions): Repaired {
  refuseOpenStore(file)
  const kind = requireDamagedKind(file)
  const at = now()
  const saved: Record<string, number> = {}
  const lost: LostRow[] = []
  const draft = `${file}.repairing-${randomBytes(6).toString('hex')}`
  const copy = `${draft}-copy`
  try {
    const fresh = createFresh(draft, kind)
    const damaged = openDamagedCopy(file, copy, (reason) =>
      lost.push({ table: '*', key: 'the whole database', reason }),
    )
    const key = prepareKey(file, kind, (row) => lost.push(row))
    if (damaged)
      fillFresh(file, kind, {
        key: { ...key, isVerifiable: key.isVerifiable && hasSeals(damaged) },
        damaged,
        fresh,
        onLost: (row) => lost.push(row),
        onSaved: (table) => {
          saved[table] = (saved[table] ?? 0) + 1
        },
      })
    damaged?.close()
    fresh.exec('pragma journal_mode = delete')
    fresh.close()
    syncFile(draft)
    const aside = setAside(file, `${file}.damaged-${toFileDate(at)}`)
    renameSync(draft, file)
    syncFile(path.dirname(file))
    const result = { kind, file, saved, lost, damaged: aside }
    if (kind === 'records') return result
    // The repaired ledger has no processes.
    removeStaleLocks(file, () => false)
    const { generation } = startGeneration(file, { event: 'repaired', by, at, count: lost.length })
    return { ...result, generation }
  } finally {
    for (const name of [draft, copy])
      for (const suffix of ['', '-wal', '-shm']) rmSync(name + suffix, { force: true })
  }
}

function fillFresh(
  file: string,
  kind: StoreKind,
  repair: Repair & { readonly key: RepairKey },
): void {
  const { fresh } = repair
  fresh.exec('begin immediate')
  if (kind === 'records') repairRecords(repair)
  else repairLedger(repair, file, repair.key)
  fresh.exec('commit')
}

/** Replaces a lost or malformed key. Records stores have none. */
function prepareKey(file: string, kind: StoreKind, onLost: Repair['onLost']): RepairKey {
  if (kind === 'records') return { secret: '', isVerifiable: false }
  const keyFile = `${file}.key`
  const secret = tryReadSecret(keyFile)
  if (secret !== undefined) return { secret, isVerifiable: true }
  if (existsSync(keyFile)) renameSync(keyFile, `${keyFile}.damaged`)
  onLost({ table: '*', key: keyFile, reason: 'the key is missing: no seal was verified' })
  return { secret: readOrCreateSecret(keyFile), isVerifiable: false }
}

/** False for a store of an earlier version. */
function hasSeals(damaged: Sqlite): boolean {
  try {
    return readVersion(damaged) === latestVersion
  } catch {
    return true
  }
}

function tryReadSecret(file: string): string | undefined {
  try {
    return readSecret(file)
  } catch {
    return undefined
  }
}

function createFresh(file: string, kind: StoreKind): Sqlite {
  const fresh = openSqlite(file)
  if (kind === 'records') prepareRecords(fresh, file)
  else {
    prepareLedger(fresh)
    migrate(
      fresh,
      () => {},
      () => {},
    )
  }
  return fresh
}

/** A ledger whose schema cannot be read is recognized by its witness, a records store by its header. */
function requireDamagedKind(file: string): StoreKind {
  const kind = existsSync(file) ? recognizeStore(file) : undefined
  if (kind) return kind
  if (existsSync(`${file}.witness`)) return 'ledger'
  if (existsSync(file) && isRecordsHeader(readHeader(file))) return 'records'
  throw new SetupError(
    existsSync(file)
      ? `${file} cannot be recognized as a ledger or a records store. Restore a backup with "drawbridge store restore FILE".`
      : `There is no store ${file}.`,
  )
}

function readHeader(file: string): Buffer {
  const header = Buffer.alloc(100)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, header)
  } finally {
    closeSync(descriptor)
  }
  return header
}
