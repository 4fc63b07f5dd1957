import type { Sqlite } from '../../src/storage/sqlite/sqlite.ts'

/** Undoes the migration that seals rows, to get a file of an earlier version. */
export function removeSeals(database: Sqlite): void {
  for (const table of ['runs', 'approvals', 'spending'])
    database.exec(`alter table ${table} drop column seal`)
  database.exec('drop table ledger_state')
}
