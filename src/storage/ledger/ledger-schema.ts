import { SetupError } from '../../capability/setup-error.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** Each brings a file one version further; `user_version` is the number of migrations applied. */
const migrations = [
  `create table boots (id text primary key, pid integer not null) strict, without rowid;
   create table runs (
     id text primary key, boot text not null, caller text not null, capability text not null,
     key text, digest text not null, state text not null, started integer not null,
     finished integer, charges text not null, outcome text
   ) strict, without rowid;
   create index runs_by_key on runs (caller, capability, key, started) where key is not null;
   create index runs_by_digest on runs (caller, capability, digest, started);
   create index runs_by_start on runs (started);
   create index runs_open on runs (state, started) where state in ('running', 'unknown');
   create table spending (
     account text not null, window text not null, spent real not null,
     primary key (account, window)
   ) strict, without rowid;
   create table approvals (
     id text primary key, binding text not null, caller text not null, capability text not null,
     state text not null, created integer not null, expires integer not null,
     decided_by text, decided_at integer, approvers text, shown text not null
   ) strict, without rowid;
   create index approvals_by_binding on approvals (binding, created);
   create index approvals_by_state on approvals (state, created);
   create table audit (
     first integer primary key, count integer not null, at integer not null,
     head text not null, lines text not null
   ) strict;`,
  `create table chain_anchors (
     chain text primary key, next integer not null, head text not null
   ) strict, without rowid;
   create table executions (
     first integer primary key, last integer not null, id text not null unique,
     boot text not null, intent text not null, version text not null, caller text not null,
     state text not null, started integer not null, finished integer
   ) strict;
   create table execution_events (
     first integer primary key, count integer not null, at integer not null,
     head text not null, lines text not null
   ) strict;`,
  // The next event that is not in the table of executions yet.
  `insert into chain_anchors (chain, next, head) values ('executions', coalesce(
     (select first + count from execution_events order by first desc limit 1),
     (select next from chain_anchors where chain = 'execution_events'), 0), '');`,
  `create index if not exists approvals_waiting on approvals (caller, expires)
     where state = 'pending';`,
  `alter table runs add column fingerprint text not null default '';
   alter table approvals add column request text not null default '';
   alter table approvals add column covers text not null default '{}';
   create index approvals_by_request on approvals (request) where state in ('pending', 'approved');`,
  // Text in base64url.
  `create table if not exists shared_secrets (name text primary key, value text not null) strict, without rowid;`,
  // `processes` replaces `boots`, which processes of an earlier version may still read.
  `create table if not exists clock (
     id integer primary key check (id = 1), mark integer not null, uptime real not null, boot text,
     skew integer not null, drift integer not null, reported integer not null,
     confirmations integer not null
   ) strict;
   create table if not exists processes (
     id text primary key, pid integer not null, boot text, machine text, namespace text, start text
   ) strict, without rowid;
   insert or ignore into processes (id, pid) select id, pid from boots;`,
]

/**
 * Rows and blocks of chains are sealed, and the state of the ledger is a row: see `row-seals.ts`,
 * `chain-marks.ts` and `ledger-state.ts`. Blocks of earlier versions keep a null.
 */
const sealMigration = `
  alter table audit add column seal text;
  alter table execution_events add column seal text;
  alter table chain_anchors add column seal text;
  create table chain_gaps (
    chain text not null, first integer not null, next integer not null, digest text not null,
    seal text not null, primary key (chain, first)
  ) strict, without rowid;
  drop index runs_open; -- every run entered and left it, for a list that operators seldom read
  alter table runs add column seal text;
  alter table approvals add column seal text;
  alter table spending add column seal text;
  create table ledger_state (id integer primary key, record text not null) strict;`

migrations.push(sealMigration)

/** The version of files that this program writes. */
export const latestVersion = migrations.length

/** Sets the pragmas. A new file gets its first page here. */
export function prepareLedger(database: Sqlite): void {
  // Longer than while serving: several processes may start, check and migrate the file together.
  database.exec('pragma busy_timeout = 15000')
  database.exec('pragma journal_mode = wal')
  // A page cache of 16 MB: keys are random, so reads are spread over the whole file.
  database.exec('pragma cache_size = -16384')
}

export const unusable = (file: string, error: unknown): SetupError =>
  new SetupError(
    `The store ${file} cannot be used: ${(error as Error).message}. The file was not changed. "drawbridge store check" examines it.`,
  )

export interface Migration {
  /** Version of the file before: 0 for a new file. */
  readonly version: number
  /** True when its rows were not sealed before. */
  readonly addsSeals: boolean
}

/**
 * Brings a file to the present version. `before` and `after` run in the same transaction, before and after
 * the schema changes.
 */
export function migrate(
  database: Sqlite,
  before: (migration: Migration) => void,
  after: (migration: Migration) => void,
): void {
  if (readVersion(database) === migrations.length) return
  database.exec('begin immediate')
  try {
    // Read inside the transaction: another process may have migrated the file meanwhile.
    const version = readVersion(database)
    if (version > migrations.length)
      throw new Error(`it was written by a later version of Drawbridge (schema ${version})`)
    if (version < migrations.length) {
      const addsSeals = version <= migrations.indexOf(sealMigration)
      before({ version, addsSeals })
      for (const migration of migrations.slice(version)) database.exec(migration)
      after({ version, addsSeals })
      database.exec(`pragma user_version = ${migrations.length}`)
    }
    database.exec('commit')
  } catch (error) {
    rollBack(database)
    throw error
  }
}

export function rollBack(database: Sqlite): void {
  try {
    database.exec('rollback')
  } catch {
    // SQLite has rolled back already.
  }
}

export const readVersion = (database: Sqlite): number =>
  database.prepare<{ user_version: number }>('pragma user_version').get()?.user_version ?? 0
