import {
  type Field,
  isScalar,
  isTime,
  type Relation,
  type Stream,
} from '../../sources/records/model/stream.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'
import { createSegmentTables } from './columns/segment-writer.ts'
import { RecordCatalog } from './record-catalog.ts'
import {
  departureKeyIndex,
  departureTable,
  fieldChangeIndex,
  fieldChangeTable,
  foreignKeyIndex,
  recordKeyIndex,
  recordSeqIndex,
  recordTable,
  recordValueIndex,
  valueColumn,
  wordColumn,
  wordTable,
} from './table-names.ts'

/** Creates the tables of one source. */
export function createSourceTables(database: Sqlite, n: number, stream: Stream): void {
  createDeclaredTables(database, n, stream)
  database.exec(
    `create table ${fieldChangeTable(n)} (
       id integer not null, field integer not null, seq integer not null,
       primary key (id, field)
     ) strict, without rowid;
     ${createChangeIndex(n)}
     create table ${departureTable(n)} (
       seq integer primary key, key text not null, at text not null, time integer
     ) strict;
     create index ${departureKeyIndex(n)} on ${departureTable(n)} (key, seq);`,
  )
}

/** Starts with the field, so that a read scans the granted fields only. */
export const createChangeIndex = (n: number): string =>
  `create index if not exists ${fieldChangeIndex(n)} on ${fieldChangeTable(n)} (field, seq);`

/** Creates the tables whose columns depend on the declaration of the stream. */
export function createDeclaredTables(database: Sqlite, n: number, stream: Stream): void {
  createSegmentTables(database, n)
  const scalars = stream.fields.filter(isScalar)
  const columns = scalars.map((field) => `${valueColumn(field.n)} ${affinity(field)}`)
  const lexical = stream.fields.filter((field) => field.lexical)
  database.exec(
    `create table ${recordTable(n)} (
       id integer primary key, key text not null, seq integer not null, at text not null,
       ${[...columns, 'body text not null'].join(', ')}
     );
     create unique index ${recordKeyIndex(n)} on ${recordTable(n)} (key);
     create index ${recordSeqIndex(n)} on ${recordTable(n)} (seq);`,
  )
  for (const field of scalars)
    if (field.name === stream.cursorField || field.name === stream.consentTimeField)
      database.exec(
        `create index ${recordValueIndex(n, field.n)}
         on ${recordTable(n)} (${valueColumn(field.n)}, key)`,
      )
  // The former table, until it is dropped, may have an index of this name.
  for (const field of scalars) database.exec(`drop index if exists ${foreignKeyIndex(n, field.n)}`)
  indexForeignKeys(database, n, stream)
  if (stream.relations.some((relation) => !isHeldBy(stream, relation)))
    for (const target of new RecordCatalog(database).sources)
      if (target.stream.name !== stream.name && pointsAt(stream, target.stream))
        indexForeignKeys(database, target.n, target.stream)
  if (lexical.length > 0)
    database.exec(
      `create virtual table ${wordTable(n)} using fts5(
         ${lexical.map((field) => wordColumn(field.n)).join(', ')},
         content='', contentless_delete=1, detail=column, tokenize='ascii')`,
    )
}

/** Indexes the fields by which other streams expand to this one. */
export function indexForeignKeys(database: Sqlite, n: number, stream: Stream): void {
  const others = new RecordCatalog(database).streams().filter(({ name }) => name !== stream.name)
  const foreignKeys = [stream, ...others]
    .filter(({ connector }) => connector === stream.connector)
    .flatMap(({ relations }) => relations.filter((relation) => isHeldBy(stream, relation)))
    .map(({ foreignKey }) => foreignKey)
  for (const field of stream.fields)
    if (isScalar(field) && foreignKeys.includes(field.name))
      database.exec(
        `create index if not exists ${foreignKeyIndex(n, field.n)}
         on ${recordTable(n)} (${valueColumn(field.n)}, key)`,
      )
}

/** True when the related records of a relation are those of this stream, and hold the foreign key. */
const isHeldBy = ({ name }: Stream, { stream, cardinality }: Relation): boolean =>
  stream === name && cardinality !== 'belongs_to'

const pointsAt = (stream: Stream, target: Stream): boolean =>
  stream.connector === target.connector &&
  stream.relations.some((relation) => isHeldBy(target, relation))

const affinity = (field: Field): string =>
  field.type === 'string'
    ? 'text'
    : field.type === 'number'
      ? 'real'
      : isTime(field) || field.type === 'boolean'
        ? 'integer'
        : 'real'
