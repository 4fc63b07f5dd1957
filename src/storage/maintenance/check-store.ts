import { existsSync } from 'node:fs'
import { StorageError } from '../../capability/storage-error.ts'
import { openReadOnly, type Sqlite } from '../sqlite/sqlite.ts'
import { checkPermissions, type Finding } from './check-files.ts'
import { checkLedgerStore } from './check-ledger-store.ts'
import { checkRecords } from './check-records.ts'
import { recognizeStore, type StoreKind } from './recognize-store.ts'

export interface StoreCheck {
  readonly file: string
  /** `undefined` when the schema cannot be read. */
  readonly kind: StoreKind | undefined
  readonly findings: readonly Finding[]
}

/** Checks a store, also while it is in use. Changes nothing. */
export function checkStore(file: string): StoreCheck {
  if (!existsSync(file) && !existsSync(`${file}.witness`) && !existsSync(`${file}.key`))
    return { file, kind: undefined, findings: [missing(file)] }
  const kind = existsSync(file) ? recognizeStore(file) : undefined
  return { file, kind, findings: [...checkContent(file, kind), ...checkPermissions(file)] }
}

const missing = (file: string): Finding => ({
  severity: 'error',
  where: file,
  message: 'the file does not exist',
  next: 'Name a store with --store, or make a first call.',
})

const damageStep =
  'Restore a backup with "drawbridge store restore FILE", or save what can be read with "drawbridge store repair".'

function checkContent(file: string, kind: StoreKind | undefined): Finding[] {
  const findings: Finding[] = []
  try {
    if (!existsSync(file))
      throw new StorageError('the database is missing, but its companions exist')
    if (kind === undefined)
      throw new StorageError('it is not a store, or its schema cannot be read')
    if (kind === 'ledger') findings.push(...checkLedgerStore(file))
    else findings.push(...checkRecordsStore(file))
  } catch (error) {
    const { message } = error as Error
    findings.push({ severity: 'error', where: file, message, next: damageStep })
  }
  return findings
}

function checkRecordsStore(file: string): Finding[] {
  const database = openReadOnly(file)
  try {
    checkStructure(database)
    return [...checkRecords(database)]
  } finally {
    database.close()
  }
}

/** Text is read as bytes: it may quote damaged content. */
function checkStructure(database: Sqlite): void {
  const problems = database
    .prepare<{ text: Uint8Array }>(
      'select cast(integrity_check as blob) as text from pragma_integrity_check limit 10',
    )
    .all()
    .map(({ text }) => Buffer.from(text).toString())
  if (problems[0] !== 'ok') throw new StorageError(problems.join('; '))
}
