import { randomBytes } from 'node:crypto'
import { SetupError } from '../../capability/setup-error.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { createSegmentTables, SegmentWriter } from './columns/segment-writer.ts'
import { createFieldNumbers } from './field-numbers.ts'
import { RecordCatalog } from './record-catalog.ts'
import { createChangeIndex, indexForeignKeys } from './source-tables.ts'
import { formerChangeIndex } from './table-names.ts'
import { rebuildWordIndex } from './words/rebuild-word-index.ts'

/** SQLite's `application_id`, which identifies the file as ours: "drwb". */
const applicationId = 0x64727762

/** Each brings a file one version further; `user_version` is the number of migrations applied. */
const migrations: readonly ((database: Sqlite) => void)[] = [
  (database) => database.exec(createFirstTables),
  (database) => database.exec(createBlobTables),
  (database) => {
    for (const n of listSources(database)) createSegmentTables(database, n)
  },
  (database) => database.exec(createFieldNumbers),
  (database) => {
    for (const { n, stream } of new RecordCatalog(database).sources)
      indexForeignKeys(database, n, stream)
  },
  (database) => database.exec(createOwners),
  (database) => {
    for (const { n, stream } of new RecordCatalog(database).sources)
      rebuildWordIndex(database, n, stream)
  },
  (database) => database.exec(createLineage),
  (database) => {
    for (const n of listSources(database))
      database.exec(`drop index if exists ${formerChangeIndex(n)}; ${createChangeIndex(n)}`)
  },
]

const listSources = (database: Sqlite): readonly number[] =>
  database
    .prepare<{ n: number }>('select n from sources')
    .all()
    .map(({ n }) => n)

const createFirstTables = `
   create table meta (name text primary key, value text not null) strict, without rowid;
   create table connections (
     id text primary key, connector text not null, label text
   ) strict, without rowid;
   create table streams (
     n integer primary key, connector text not null, name text not null, declaration text not null,
     unique (connector, name)
   ) strict;
   create table sources (
     n integer primary key, connection text not null, stream integer not null,
     unique (connection, stream)
   ) strict;
   create table tokens (
     hash text primary key, kind text not null, package text
   ) strict, without rowid;
   create table packages (
     id text primary key, client text not null, created integer not null, expires integer,
     mode text not null, revoked integer
   ) strict, without rowid;
   create table grants (
     id text primary key, package text not null, place integer not null, connection text not null,
     streams text not null, revoked integer
   ) strict, without rowid;
   create index grants_by_package on grants (package, place);
   create table imports (
     source integer not null, file text not null, lines integer not null,
     primary key (source, file)
   ) strict, without rowid;
   create table reads (
     n integer primary key, at integer not null, package text not null, entry text not null,
     hash text not null
   ) strict;
   create index reads_by_package on reads (package, n);`

const createBlobTables = `
   alter table packages add column consumed integer;
   create table blobs (id text primary key, mime text not null, bytes blob not null) strict;
   create table bindings (
     blob text not null, source integer not null, key text not null,
     primary key (blob, source, key)
   ) strict, without rowid;`

/** Owner tokens of older files get an id to revoke them by; their creation time is unknown. */
const createOwners = `
   create table if not exists owners (
     id text primary key, hash text not null unique, created integer, expires integer,
     revoked integer
   ) strict, without rowid;
   insert into owners (id, hash)
     select 'own_' || lower(hex(randomblob(16))), hash from tokens
     where kind = 'owner' and hash not in (select hash from owners);`

/**
 * A random mark per transaction. Two copies of a file that are both written to get different marks, so a
 * bookmark of one is recognized as foreign by the other.
 */
const createLineage = `
   create table if not exists lineage (seq integer primary key, mark integer not null) strict;
   insert or ignore into lineage (seq, mark)
     select cast(value as integer), random() & 4294967295 from meta where name = 'counter';
   create trigger if not exists lineage_grows after update of value on meta
     when new.name = 'counter' and new.value <> old.value
   begin
     insert or replace into lineage (seq, mark)
       values (cast(new.value as integer), random() & 4294967295);
   end;`

/** Opens the file for use: checks that it is a records store, sets the pragmas, migrates it. */
export function prepareRecords(database: Sqlite, file: string): void {
  try {
    database.exec('pragma busy_timeout = 5000')
    const version = checkRecordsVersion(database)
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = normal')
    database.exec('pragma cache_size = -65536')
    if (version < migrations.length) migrate(database)
  } catch (error) {
    database.close()
    throw new SetupError(
      `The store ${file} cannot be used: ${(error as Error).message}. The file was not changed.`,
    )
  }
}

/** Returns the version; throws for a file of another application. Only an empty file becomes a store. */
export function checkRecordsVersion(database: Sqlite): number {
  const { version, application, tables } = database
    .prepare<{ version: number; application: number; tables: number }>(
      `select user_version as version, application_id as application,
         (select count(*) from sqlite_master) as tables
       from pragma_user_version, pragma_application_id`,
    )
    .get() ?? { version: 0, application: 0, tables: 0 }
  const isEmpty = version === 0 && application === 0 && tables === 0
  if (!isEmpty && (version < 1 || application !== applicationId))
    throw new Error('it is not a records store')
  if (version > migrations.length)
    throw new Error('it was written by a later version of Drawbridge')
  return version
}

function migrate(database: Sqlite): void {
  database.exec('begin immediate')
  try {
    // Checked again inside the transaction: another process may have migrated the file meanwhile.
    for (const migration of migrations.slice(checkRecordsVersion(database))) migration(database)
    database.exec(`pragma user_version = ${migrations.length}`)
    database.exec(`pragma application_id = ${applicationId}`)
    const put = database.prepare('insert or ignore into meta (name, value) values (?, ?)')
    put.run('counter', '0')
    put.run('catalogue', '0')
    put.run('segments', '0')
    put.run('key', randomBytes(32).toString('hex'))
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
  buildSegments(database)
}

const segmentsPerCommit = 16

/** Builds the segments of older files. If it is interrupted, the next writes continue. */
function buildSegments(database: Sqlite): void {
  const segments = new SegmentWriter(database)
  for (const { n, stream } of new RecordCatalog(database).sources)
    for (let hasMore = true; hasMore; ) {
      database.exec('begin immediate')
      hasMore = segments.maintain(n, stream, segmentsPerCommit)
      database.exec('commit')
    }
}

/** True when the header of a database names our application id. */
export const isRecordsHeader = (header: Buffer): boolean =>
  header.readUInt32BE(68) === applicationId
