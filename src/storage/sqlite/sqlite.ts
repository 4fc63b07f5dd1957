import { closeSync, existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { SetupError } from '../../capability/setup-error.ts'
import { DamageError, StorageError } from '../../capability/storage-error.ts'
import { isDanglingLink } from '../private-file.ts'
import type { Driver, Value } from './driver.ts'
import { type LibsqlDriver, readTextAsBytes } from './text-as-bytes.ts'

/** The subset of SQLite in use. Only this folder knows the drivers. */
export interface Sqlite {
  /** Compiles a statement once and caches it by its text. */
  prepare<Row = never>(sql: string): Statement<Row>
  exec(sql: string): void
  close(): void
}

export interface Statement<Row> {
  run(...values: Value[]): { changes: number }
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

export type { Value } from './driver.ts'

/** Uses `node:sqlite` where Node has it, else libsql, which ships prebuilt binaries. */
export const openSqlite = (file: string): Sqlite => toSqlite(openDriver(file))

/** Opens an existing file and changes none of its bytes: neither writes nor checkpoints the WAL. */
export function openReadOnly(file: string): Sqlite {
  if (!existsSync(file)) throw new SetupError(`There is no store ${file}.`)
  const database = toSqlite(openDriver(file, { readOnly: true }))
  database.exec('pragma busy_timeout = 5000')
  return database
}

function toSqlite(driver: Driver): Sqlite {
  const statements = new Map<string, Statement<unknown>>()
  return {
    prepare<Row>(sql: string): Statement<Row> {
      let statement = statements.get(sql)
      if (!statement) {
        // Reads of records have many different texts: evict the oldest (FIFO).
        if (statements.size >= maxStatements)
          statements.delete(statements.keys().next().value ?? '')
        statement = toStatement(driver, sql)
        statements.set(sql, statement)
      }
      return statement as Statement<Row>
    },
    exec: (sql) => void attempt(() => driver.exec(sql)),
    close: () => driver.close(),
  }
}

const maxStatements = 1000

function openDriver(file: string, options: { readonly readOnly?: boolean } = {}): Driver {
  const load = createRequire(import.meta.url)
  try {
    if (file !== ':memory:') createPrivateFile(file)
    const nodeSqlite = loadNodeSqlite()
    if (nodeSqlite) return new nodeSqlite.DatabaseSync(file, options)
    const Database = load('libsql') as new (file: string) => LibsqlDriver
    // Its option for this is ignored, but not the parameter of a URI.
    const address = options.readOnly ? `${pathToFileURL(file).href}?mode=ro` : file
    return readTextAsBytes(new Database(address))
  } catch (error) {
    throw new SetupError(`The store ${file} cannot be opened: ${(error as Error).message}`)
  }
}

interface NodeSqlite {
  readonly DatabaseSync: new (file: string, options: object) => Driver
}

/** `node:sqlite` where Node has it, without Node's warning that it is experimental. All other warnings appear. */
function loadNodeSqlite(): NodeSqlite | undefined {
  const { emitWarning } = process
  const emitOthers = (...[warning, ...rest]: Parameters<typeof emitWarning>): void => {
    if (!String(warning).startsWith('SQLite is an experimental feature'))
      emitWarning.call(process, warning, ...rest)
  }
  // Node warns while it loads the module, which it does at once.
  process.emitWarning = emitOthers as typeof emitWarning
  try {
    return process.getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * Creates a missing file readable by its owner only: it holds results of tools. An existing one must not
 * be opened here: closing any descriptor of a file drops all POSIX locks that this process holds on it,
 * and another process would then delete the write-ahead log of an open connection.
 */
function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // The driver would create its target, perhaps on a disk that is not mounted: an empty store then
    // hides the real one.
    if (isDanglingLink(file))
      throw new Error(
        'it is a symbolic link to a file that does not exist. Correct or remove the link',
      )
  }
}

function toStatement(driver: Driver, sql: string): Statement<unknown> {
  const statement = attempt(() => driver.prepare(sql))
  return {
    run: (...values) => ({ changes: Number(attempt(() => statement.run(...values)).changes) }),
    get: (...values) => withoutMetadata(attempt(() => statement.get(...values))),
    all: (...values) => attempt(() => statement.all(...values)),
  }
}

/** libsql adds a field of its own to rows returned by `get`. */
function withoutMetadata(row: unknown): unknown {
  if (typeof row === 'object' && row !== null && '_metadata' in row) delete row._metadata
  return row
}

/** Converts the errors of the drivers: all of them mean that the file cannot be used now. */
function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const ErrorClass = isDamage(error as DriverError) ? DamageError : StorageError
    throw new ErrorClass((error as Error).message, { cause: error })
  }
}

interface DriverError extends Error {
  /** Result code of SQLite, as `node:sqlite` names it. */
  readonly errcode?: number
  /** Result code of SQLite, as libsql names it. */
  readonly rawCode?: number
  readonly code?: string
}

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes: ReadonlySet<number> = new Set([11, 26])

/** Damage also shows as a table that is not there, or as an integer that no number can hold. */
const isDamage = ({ errcode, rawCode = errcode ?? 0, code, message }: DriverError): boolean =>
  damageCodes.has(rawCode & 0xff) ||
  code === 'ERR_OUT_OF_RANGE' ||
  /^no such (table|column)|^malformed database schema/.test(message)
