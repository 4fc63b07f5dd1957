import { type Bytes, toText } from './bytes.ts'
import type { Driver, DriverStatement } from './driver.ts'

/** What libsql offers besides the common subset. */
export interface LibsqlDriver extends Driver {
  prepare(sql: string): LibsqlStatement
}

interface LibsqlStatement extends DriverStatement {
  columns(): readonly { readonly name: string }[]
  /** Rows become arrays. */
  raw(): LibsqlStatement
}

/**
 * Makes libsql return text with invalid UTF-8 as `node:sqlite` does, with U+FFFD for each invalid sequence.
 * By itself libsql aborts the process (a Rust panic), so queries return text as bytes, and it is decoded here.
 */
export const readTextAsBytes = (driver: LibsqlDriver): Driver => ({
  prepare(sql) {
    const statement = driver.prepare(sql)
    return mayReturnText(sql, statement) ? toDecoded(driver, statement, sql) : statement
  },
  exec: (sql) => driver.exec(sql),
  close: () => driver.close(),
})

/** False for pragmas and `returning`, which cannot be part of a query, and when every column is cast. */
function mayReturnText(sql: string, statement: LibsqlStatement): boolean {
  if (!/^\s*(select|with)\b/i.test(sql)) return false
  const casts = new Set(
    [...sql.matchAll(/\bas (?:blob|integer|real)\) as (\w+)/g)].map(([, name]) => name),
  )
  return statement.columns().some(({ name }) => !casts.has(name))
}

function toDecoded(driver: LibsqlDriver, statement: LibsqlStatement, sql: string): DriverStatement {
  const names = statement.columns().map(({ name }) => name)
  const query = driver.prepare(toByteQuery(sql, names.length)).raw()
  return {
    run: (...values) => statement.run(...values),
    get(...values) {
      const cells = query.get(...values)
      return cells === undefined ? undefined : toRow(names, cells as readonly unknown[])
    },
    all: (...values) =>
      query.all(...values).map((cells) => toRow(names, cells as readonly unknown[])),
  }
}

/** The last column is a bit mask of the columns that are text: they cannot be told from blobs otherwise. */
function toByteQuery(sql: string, count: number): string {
  const columns = Array.from({ length: count }, (_, at) => `c${at}`)
  const cells = columns.map(
    (name) => `iif(typeof(${name}) = 'text', cast(${name} as blob), ${name})`,
  )
  const bits = columns.map((name, at) => `(typeof(${name}) = 'text') * ${2 ** at}`)
  return `with result (${columns.join(', ')}) as (${sql})
    select ${cells.join(', ')}, ${bits.join(' + ')} from result`
}

function toRow(names: readonly string[], cells: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  let mask = cells[names.length] as number
  names.forEach((name, at) => {
    row[name] = mask % 2 === 1 ? toText(cells[at] as Bytes) : cells[at]
    mask = Math.floor(mask / 2)
  })
  return row
}
