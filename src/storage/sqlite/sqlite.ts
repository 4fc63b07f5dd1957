import { closeSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { SetupError } from '../../capability/setup-error.ts'
import { LedgerError } from '../../governance/ledger.ts'

/** The little of SQLite that is used here. The only file that names a driver. */
export interface Sqlite {
  /** A statement is compiled once and kept. */
  prepare<Row = never>(sql: string): Statement<Row>
  exec(sql: string): void
  close(): void
}

export interface Statement<Row> {
  run(...values: Value[]): { changes: number }
  get(...values: Value[]): Row | undefined
  all(...values: Value[]): Row[]
}

export type Value = string | number | Uint8Array | null

interface Driver {
  prepare(sql: string): {
    run(...values: Value[]): { changes: number | bigint }
    get(...values: Value[]): unknown
    all(...values: Value[]): unknown[]
  }
  exec(sql: string): unknown
  close(): void
}

/** Node's own SQLite where there is one, a driver with its binary inside the package elsewhere. */
export function openSqlite(file: string): Sqlite {
  const driver = openDriver(file)
  const statements = new Map<string, Statement<unknown>>()
  return {
    prepare<Row>(sql: string): Statement<Row> {
      let statement = statements.get(sql)
      if (!statement) {
        // Reads of records come in many shapes: the oldest are compiled again when they come again.
        if (statements.size >= mostStatements)
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

const mostStatements = 1000

function openDriver(file: string): Driver {
  const load = createRequire(import.meta.url)
  try {
    // It holds what tools answered: nobody else's business.
    if (file !== ':memory:') closeSync(openSync(file, 'a', 0o600))
    if (process.getBuiltinModule?.('node:sqlite')) {
      const { DatabaseSync } = process.getBuiltinModule('node:sqlite') as {
        DatabaseSync: new (file: string) => Driver
      }
      return new DatabaseSync(file)
    }
    const Database = load('libsql') as new (file: string) => Driver
    return new Database(file)
  } catch (error) {
    throw new SetupError(`The store ${file} cannot be opened: ${(error as Error).message}`)
  }
}

function toStatement(driver: Driver, sql: string): Statement<unknown> {
  const statement = attempt(() => driver.prepare(sql))
  return {
    run: (...values) => ({ changes: Number(attempt(() => statement.run(...values)).changes) }),
    get: (...values) => toOwnFields(attempt(() => statement.get(...values))),
    all: (...values) => attempt(() => statement.all(...values)),
  }
}

/** One of the drivers puts a field of its own into a single row. */
function toOwnFields(row: unknown): unknown {
  if (typeof row === 'object' && row !== null && '_metadata' in row) delete row._metadata
  return row
}

/** Each driver has errors of its own; all of them mean that the file cannot be used now. */
function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new LedgerError((error as Error).message, { cause: error })
  }
}
