import type { Sqlite } from '../../src/storage/sqlite/sqlite.ts'

/** Brings a ledger to schema version 4, whose chains had no seals. */
export const removeSeals = (database: Sqlite): void =>
  database.exec(
    `alter table audit drop column seal;
     alter table execution_events drop column seal;
     delete from chain_anchors where chain like '%:sealed';
     alter table chain_anchors drop column seal;
     drop table chain_gaps;
     pragma user_version = 4;`,
  )
