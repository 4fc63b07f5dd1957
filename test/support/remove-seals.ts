import { rmSync } from 'node:fs'
import { toCompanionFile } from '../../src/storage/companion-files.ts'
import { openSqlite, type Sqlite } from '../../src/storage/sqlite/sqlite.ts'

/** Turns a closed store into one of an earlier version, which had no seals, no key and no witness. */
export function makeUnsealed(file: string): void {
  const database = openSqlite(file)
  database.exec("delete from chain_anchors where chain = 'executions'")
  removeSeals(database)
  database.exec('pragma user_version = 2')
  database.close()
  for (const companion of ['witness', 'key'] as const) rmSync(toCompanionFile(file, companion))
}

/** Undoes the migrations from the one that records what approvals cover, to get a file of an earlier version. */
function removeSeals(database: Sqlite): void {
  database.exec("delete from chain_anchors where chain like '%:sealed'")
  for (const table of [
    'runs',
    'approvals',
    'spending',
    'audit',
    'execution_events',
    'chain_anchors',
  ])
    database.exec(`alter table ${table} drop column seal`)
  database.exec(`
    drop table chain_gaps;
    drop table ledger_state;
    drop index approvals_by_request;
    alter table runs drop column fingerprint;
    alter table approvals drop column request;
    alter table approvals drop column covers;
    create index runs_open on runs (state, started) where state in ('running', 'unknown')`)
}
