import { randomBytes } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { SetupError } from '../../capability/setup-error.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import { readOrCreateSecret, readSecret, toCompanionFile } from '../companion-files.ts'
import { readDataVersion } from '../sqlite/data-version.ts'
import { openSqlite, type Sqlite } from '../sqlite/sqlite.ts'
import { ChainTable } from './chain/chain-table.ts'
import { checkLatestCommit, checkLedger } from './damage/check-ledger.ts'
import { readStamp, toClosedStamp } from './damage/file-watch.ts'
import { StateRow } from './damage/ledger-state.ts'
import { foundWitness, readWitness, type WitnessReading } from './damage/witness.ts'
import { type Migration, migrate, prepareLedger, unusable } from './ledger-schema.ts'
import { RowSeals } from './seals/row-seals.ts'
import { toChainKey } from './seals/seal.ts'
import { openSealedRows } from './seals/sealed-rows.ts'

/** The database file as it was found. */
export interface OpenedFile {
  readonly stamp: string
  readonly dataVersion: number
  /** Whether the rows are known to be sound; `due` when they have to be checked before the file is used. */
  readonly rows: 'sound' | 'due' | 'unknown'
  /** Then whatever takes longer for more rows is done in the background. */
  readonly isLarge: boolean
}

/** Bytes of a large file: to check all rows of a smaller one takes less time than the rest of a start. */
const largeBytes = 2_000_000

export interface LedgerFile {
  readonly database: Sqlite
  readonly seals: RowSeals
  /** The secret of which keys are derived. Random for a store whose key cannot be read. */
  readonly secret: string
  /** Absent for a store in memory. */
  readonly witness?: OpenedFile & { readonly file: string }
  /** Why the file must not be used. `database` is then opened to read it, or is an empty one in memory. */
  readonly damage?: DamageError
}

/** Opens, checks and migrates a file. Damage is returned, so that reads can continue; other problems throw. */
export function openLedgerFile(file: string, checksRows = true): LedgerFile {
  if (file === ':memory:') return openInMemory()
  const witness = toCompanionFile(file, 'witness')
  let database: Sqlite | undefined
  try {
    refuseMissingDatabase(file, witness)
    database = openSqlite(file)
    prepareLedger(database)
    const secret = prepareKey(database, file, witness)
    const seals = new RowSeals(secret)
    const stamp = readStamp(file)
    const dataVersion = readDataVersion(database)
    const reading = readWitness(witness, seals)
    const isChecked = !checksRows || isAsClosed(file, stamp, reading)
    const isLarge = readSize(database) > largeBytes
    const check = isChecked || isLarge ? checkLatestCommit : checkLedger
    check(database, seals, reading)
    const rows = !checksRows ? 'unknown' : isChecked || !isLarge ? 'sound' : 'due'
    const opened = { stamp, dataVersion, rows, isLarge } as const
    return { database, seals, secret, witness: { file: witness, ...opened } }
  } catch (error) {
    if (error instanceof DamageError) return openDamaged(file, database, error)
    database?.close()
    throw error instanceof SetupError ? error : unusable(file, error)
  }
}

/** Nothing has been written since a process of this store checked the file, used it alone and closed it. */
const isAsClosed = (file: string, stamp: string, witness: WitnessReading): boolean =>
  readWalSize(file) === 0 && witness.kind === 'records' && witness.stamps.has(toClosedStamp(stamp))

/** Size of the database in bytes, without the outdated pages in its log. */
function readSize(database: Sqlite): number {
  const { pages = 0, size = 0 } =
    database
      .prepare<{ pages: number; size: number }>(
        `select cast(page_count as integer) as pages, cast(page_size as integer) as size
         from pragma_page_count, pragma_page_size`,
      )
      .get() ?? {}
  return pages * size
}

/** SQLite puts the log beside the target of a symbolic link. */
const readWalSize = (file: string): number =>
  statSync(`${realpathSync(file)}-wal`, { throwIfNoEntry: false })?.size ?? 0

/** Reads the witness of a store, with the key beside it. */
export function readWitnessOf(file: string): WitnessReading {
  const secret = readSecret(toCompanionFile(file, 'key')) ?? ''
  return readWitness(toCompanionFile(file, 'witness'), new RowSeals(secret))
}

function openInMemory(): LedgerFile {
  const database = openSqlite(':memory:')
  const secret = randomBytes(32).toString('base64url')
  const seals = new RowSeals(secret)
  prepareLedger(database)
  migrate(
    database,
    () => {},
    () => seal(database, secret),
  )
  return { database, seals, secret }
}

/** Nothing is written to a damaged file. */
function openDamaged(file: string, database: Sqlite | undefined, damage: DamageError): LedgerFile {
  const empty = openInMemory()
  if (!database || !isReadable(database)) {
    database?.close()
    return { ...empty, damage }
  }
  empty.database.close()
  database.exec('pragma query_only = 1')
  return { ...empty, secret: tryReadKey(file) ?? empty.secret, database, damage }
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
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size !== undefined && size + readWalSize(file) > 0) return
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
    if (addsSeals) seal(database, readOrCreateSecret(keyFile))
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

/** The key of a damaged store verifies what is left. */
function tryReadKey(file: string): string | undefined {
  try {
    return readSecret(toCompanionFile(file, 'key'))
  } catch {
    return undefined
  }
}

/** Seals the rows and chains of an earlier version, and writes the first state. */
function seal(database: Sqlite, secret: string): void {
  const seals = new RowSeals(secret)
  const chainKey = toChainKey(secret)
  for (const table of Object.values(openSealedRows(database, seals))) table.sealAll()
  const [audit, events] = (['audit', 'execution_events'] as const).map((name) => {
    const chain = new ChainTable(database, name, chainKey)
    chain.startSealing()
    return chain.end
  })
  if (audit && events) new StateRow(database, seals).found({ audit, events })
}
