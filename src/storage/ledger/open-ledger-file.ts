import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import { readOrCreateSecret, readSecret, toCompanionFile } from '../companion-files.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { checkLedger, emptyChain, readPosition } from './check-ledger.ts'
import { type Migration, migrate, prepareLedger, unusable } from './ledger-schema.ts'
import { StateRow } from './ledger-state.ts'
import { RowSeals } from './row-seals.ts'
import { openSealedRows, type RunRow } from './sealed-rows.ts'
import { foundWitness, readWitness } from './witness.ts'

export interface LedgerFile {
  readonly database: Sqlite
  readonly seals: RowSeals
  /** Path of the witness; absent for a store in memory. */
  readonly witness?: string
  /** Why the file must not be used. `database` is then opened to read it, or is an empty one in memory. */
  readonly damage?: DamageError
}

/** Opens, checks and migrates a file. Damage is returned, so that reads can continue; other problems throw. */
export function openLedgerFile(file: string, onRun: (run: RunRow) => void = () => {}): LedgerFile {
  if (file === ':memory:') return openInMemory()
  const witness = toCompanionFile(file, 'witness')
  let database: Sqlite | undefined
  try {
    refuseMissingDatabase(file, witness)
    database = openSqlite(file)
    prepareLedger(database)
    const seals = new RowSeals(prepareKey(database, file, witness))
    checkLedger(database, seals, readWitness(witness, seals), onRun)
    return { database, seals, witness }
  } catch (error) {
    if (error instanceof DamageError) return openDamaged(database, error)
    database?.close()
    throw error instanceof SetupError ? error : unusable(file, error)
  }
}

function openInMemory(): LedgerFile {
  const database = openSqlite(':memory:')
  const seals = new RowSeals(randomBytes(32).toString('base64url'))
  prepareLedger(database)
  migrate(
    database,
    () => {},
    () => seal(database, seals),
  )
  return { database, seals }
}

/** Nothing is written to a damaged file. */
function openDamaged(database: Sqlite | undefined, damage: DamageError): LedgerFile {
  const empty = openInMemory()
  if (!database || !isReadable(database)) {
    database?.close()
    return { ...empty, damage }
  }
  empty.database.close()
  database.exec('pragma query_only = 1')
  return { ...empty, database, damage }
}

function isReadable(database: Sqlite): boolean {
  try {
    database.prepare('select count(*) from audit').get()
    return true
  } catch {
    return false
  }
}

/** An empty database where there was a store is a loss, not a new store. */
function refuseMissingDatabase(file: string, witness: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  const walSize = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (size + walSize > 0) return
  const left = findRemains(file, witness)
  if (left !== undefined) throw emptyDatabase(left)
}

const emptyDatabase = (left: string): DamageError =>
  new DamageError(`the database is missing or empty, but ${left} exists`)

/** A file that only a store with commits has. */
function findRemains(file: string, witness: string): string | undefined {
  const reading = readWitness(witness, new RowSeals(''))
  if (reading.kind === 'founding') return undefined
  if (reading.kind !== 'absent') return witness
  const key = toCompanionFile(file, 'key')
  return statSync(key, { throwIfNoEntry: false }) ? key : undefined
}

/** Migrates the file if necessary; returns its key. */
function prepareKey(database: Sqlite, file: string, witness: string): string {
  const keyFile = toCompanionFile(file, 'key')
  const before = ({ version, addsSeals }: Migration) => {
    if (!addsSeals) return
    const left = findRemains(file, witness)
    if (left === witness) throw new DamageError('the database is older than its witness')
    if (left !== undefined && version === 0) throw emptyDatabase(left)
    foundWitness(witness)
  }
  const after = ({ addsSeals }: Migration) => {
    if (addsSeals) seal(database, new RowSeals(readOrCreateSecret(keyFile)))
  }
  migrate(database, before, after)
  return readKey(keyFile)
}

function readKey(file: string): string {
  try {
    const secret = readSecret(file)
    if (secret !== undefined) return secret
  } catch (error) {
    // A cause means that the file cannot be read now.
    if (!(error instanceof StorageError) || error.cause !== undefined) throw error
    throw new DamageError(`the key file ${file} was changed`)
  }
  throw new DamageError(`the key file ${file} is missing`)
}

/** Seals the rows of an earlier version, and writes the first state. */
function seal(database: Sqlite, seals: RowSeals): void {
  for (const table of Object.values(openSealedRows(database, seals))) table.sealAll()
  new StateRow(database, seals).found(readPosition(database, Number.MAX_SAFE_INTEGER) ?? emptyChain)
  seals.reset(0n)
}
