import { rmSync } from 'node:fs'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'

/** Brings a ledger to schema version 4, which had no seals, no key and no witness. */
export function removeSeals(file: string): void {
  const database = openSqlite(file)
  database.exec(
    `alter table audit drop column seal;
     alter table execution_events drop column seal;
     delete from chain_anchors where chain like '%:sealed';
     alter table chain_anchors drop column seal;
     drop table chain_gaps;
     alter table runs drop column seal;
     alter table approvals drop column seal;
     alter table spending drop column seal;
     drop table ledger_state;
     pragma user_version = 4;`,
  )
  database.close()
  for (const companion of ['key', 'witness']) rmSync(`${file}.${companion}`, { force: true })
}
