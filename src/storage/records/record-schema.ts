import { randomBytes } from 'node:crypto'
import { SetupError } from '../../capability/setup-error.ts'
import {
  type Field,
  isScalar,
  isTime,
  type Relation,
  type Stream,
} from '../../sources/records/model/stream.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { createSegmentTables, SegmentWriter } from './columns/segment-writer.ts'
import { tableOfNumbers } from './field-numbers.ts'
import { RecordCatalog } from './record-catalog.ts'
import { rebuildWordIndex } from './words/rebuild-word-index.ts'

/** Says whose file it is, in the four bytes SQLite keeps for that: "drwb". */
const application = 0x64727762

const migrations: readonly ((database: Sqlite) => void)[] = [
  (database) => database.exec(firstTables),
  (database) => database.exec(tablesOfBlobs),
  (database) => {
    for (const { n } of database.prepare<{ n: number }>('select n from sources').all())
      createSegmentTables(database, n)
  },
  (database) => database.exec(tableOfNumbers),
  (database) => {
    for (const { n, stream } of new RecordCatalog(database).sources)
      indexForeignKeys(database, n, stream)
  },
  (database) => database.exec(tableOfOwners),
  (database) => {
    for (const { n, stream } of new RecordCatalog(database).sources)
      rebuildWordIndex(database, n, stream)
  },
  (database) => database.exec(tableOfLineage),
  (database) => {
    for (const { n } of database.prepare<{ n: number }>('select n from sources').all())
      database.exec(`drop index if exists h${n}_s; ${indexOfChanges(n)}`)
  },
]

/** Field by field: those that are not granted are not even passed by. */
const indexOfChanges = (n: number): string =>
  `create index if not exists h${n}_f on h${n} (field, seq);`

const firstTables = `
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

const tablesOfBlobs = `
   alter table packages add column consumed integer;
   create table blobs (id text primary key, mime text not null, bytes blob not null) strict;
   create table bindings (
     blob text not null, source integer not null, key text not null,
     primary key (blob, source, key)
   ) strict, without rowid;`

/** Of those that are there already nobody knows since when; each gets an id to be revoked by. */
const tableOfOwners = `
   create table if not exists owners (
     id text primary key, hash text not null unique, created integer, expires integer,
     revoked integer
   ) strict, without rowid;
   insert into owners (id, hash)
     select 'own_' || lower(hex(randomblob(16))), hash from tokens
     where kind = 'owner' and hash not in (select hash from owners);`

/** One mark for everything that is written at once: a copy that goes on elsewhere gets other ones. */
const tableOfLineage = `
   create table if not exists lineage (seq integer primary key, mark integer not null) strict;
   insert or ignore into lineage (seq, mark)
     select cast(value as integer), random() & 4294967295 from meta where name = 'counter';
   create trigger if not exists lineage_grows after update of value on meta
     when new.name = 'counter' and new.value <> old.value
   begin
     insert or replace into lineage (seq, mark)
       values (cast(new.value as integer), random() & 4294967295);
   end;`

/** What the file must be before anything is done with it. */
export function prepareRecords(database: Sqlite, file: string): void {
  try {
    database.exec('pragma busy_timeout = 5000')
    const version = checkOwner(database)
    database.exec('pragma journal_mode = wal')
    database.exec('pragma synchronous = normal')
    database.exec('pragma cache_size = -65536')
    if (version < migrations.length) migrate(database)
  } catch (error) {
    database.close()
    throw new SetupError(
      `The store ${file} cannot be used: ${(error as Error).message}. It was left as it is.`,
    )
  }
}

/** Its version, unless it is somebody else's. Only an empty file becomes a store. */
function checkOwner(database: Sqlite): number {
  const { version, owner, tables } = database
    .prepare<{ version: number; owner: number; tables: number }>(
      `select user_version as version, application_id as owner,
         (select count(*) from sqlite_master) as tables
       from pragma_user_version, pragma_application_id`,
    )
    .get() ?? { version: 0, owner: 0, tables: 0 }
  const isEmpty = version === 0 && owner === 0 && tables === 0
  if (!isEmpty && (version < 1 || owner !== application))
    throw new Error('it is no store of records')
  if (version > migrations.length) throw new Error('it was written by a later version')
  return version
}

function migrate(database: Sqlite): void {
  database.exec('begin immediate')
  try {
    // Another process may have been first.
    for (const migration of migrations.slice(checkOwner(database))) migration(database)
    database.exec(`pragma user_version = ${migrations.length}`)
    database.exec(`pragma application_id = ${application}`)
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
  settleAll(database)
}

const settledAtOnce = 16

/** A file from before there were segments gets them; whoever is interrupted goes on when it is written to. */
function settleAll(database: Sqlite): void {
  const segments = new SegmentWriter(database)
  for (const { n, stream } of new RecordCatalog(database).sources)
    for (let isLeft = true; isLeft; ) {
      database.exec('begin immediate')
      isLeft = segments.settle(n, stream, settledAtOnce)
      database.exec('commit')
    }
}

/** The tables of one source: records, words, what changed later, and what is gone. */
export function createTables(database: Sqlite, n: number, stream: Stream): void {
  createColumns(database, n, stream)
  database.exec(
    `create table h${n} (
       id integer not null, field integer not null, seq integer not null,
       primary key (id, field)
     ) strict, without rowid;
     ${indexOfChanges(n)}
     create table d${n} (
       seq integer primary key, key text not null, at text not null, time integer
     ) strict;
     create index d${n}_k on d${n} (key, seq);`,
  )
}

/** Those of them that are as the stream is declared. */
export function createColumns(database: Sqlite, n: number, stream: Stream): void {
  createSegmentTables(database, n)
  const scalars = stream.fields.filter(isScalar)
  const columns = scalars.map((field) => `f${field.n} ${affinity(field)}`)
  const lexical = stream.fields.filter((field) => field.lexical)
  database.exec(
    `create table r${n} (
       id integer primary key, key text not null, seq integer not null, at text not null,
       ${[...columns, 'body text not null'].join(', ')}
     );
     create unique index r${n}_k on r${n} (key);
     create index r${n}_s on r${n} (seq);`,
  )
  for (const field of scalars)
    if (field.name === stream.cursorField || field.name === stream.consentTimeField)
      database.exec(`create index r${n}_f${field.n} on r${n} (f${field.n}, key)`)
  // One of this name may still be on the table that this one takes the place of.
  for (const field of scalars) database.exec(`drop index if exists r${n}_x${field.n}`)
  indexForeignKeys(database, n, stream)
  if (stream.relations.some((one) => !isHeldBy(stream, one)))
    for (const target of new RecordCatalog(database).sources)
      if (target.stream.name !== stream.name && pointsAt(stream, target.stream))
        indexForeignKeys(database, target.n, target.stream)
  if (lexical.length > 0)
    database.exec(
      `create virtual table s${n} using fts5(
         ${lexical.map((field) => `c${field.n}`).join(', ')},
         content='', contentless_delete=1, detail=column, tokenize='ascii')`,
    )
}

/** What records of other streams are found by when those are expanded. */
function indexForeignKeys(database: Sqlite, n: number, stream: Stream): void {
  const others = new RecordCatalog(database).streams().filter(({ name }) => name !== stream.name)
  const names = [stream, ...others]
    .filter(({ connector }) => connector === stream.connector)
    .flatMap(({ relations }) => relations.filter((one) => isHeldBy(stream, one)))
    .map(({ foreignKey }) => foreignKey)
  for (const field of stream.fields)
    if (isScalar(field) && names.includes(field.name))
      database.exec(`create index if not exists r${n}_x${field.n} on r${n} (f${field.n}, key)`)
}

const isHeldBy = ({ name }: Stream, { stream, cardinality }: Relation): boolean =>
  stream === name && cardinality !== 'belongs_to'

const pointsAt = (stream: Stream, target: Stream): boolean =>
  stream.connector === target.connector && stream.relations.some((one) => isHeldBy(target, one))

const affinity = (field: Field): string =>
  field.type === 'string'
    ? 'text'
    : field.type === 'number'
      ? 'real'
      : isTime(field) || field.type === 'boolean'
        ? 'integer'
        : 'real'
