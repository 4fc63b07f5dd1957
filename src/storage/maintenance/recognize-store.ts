import { SetupError } from '../../capability/setup-error.ts'
import { openReadOnly, type Sqlite } from '../sqlite/sqlite.ts'

export type StoreKind = 'ledger' | 'records'

/** Tells a ledger from a records store by their tables; `undefined` when the schema cannot be read. */
export function recognizeStore(file: string): StoreKind | undefined {
  const database = openReadOnly(file)
  try {
    return recognizeTables(database)
  } catch {
    return undefined
  } finally {
    database.close()
  }
}

function recognizeTables(database: Sqlite): StoreKind | undefined {
  const hasTable = (name: string) =>
    database
      .prepare<{ found: number }>(
        `select count(*) as found from sqlite_master where type = 'table' and name = ?`,
      )
      .get(name)?.found === 1
  if (hasTable('audit') || hasTable('runs')) return 'ledger'
  return hasTable('connections') || hasTable('streams') ? 'records' : undefined
}

export function requireKind(file: string): StoreKind {
  const kind = recognizeStore(file)
  if (kind) return kind
  throw new SetupError(
    `${file} is not a store that can be read. "drawbridge store check --store ${file}" says what is wrong.`,
  )
}
