import type { Stream } from '../../sources/records/model/stream.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** Every number that a field was ever given: it means this name with this type, and nothing else ever. */
export const tableOfNumbers = `
   create table fields (
     stream integer not null, name text not null, type text not null, n integer not null,
     primary key (stream, name, type), unique (stream, n)
   ) strict, without rowid;
   insert into fields (stream, name, type, n)
     select streams.n, field.value ->> '$.name', field.value ->> '$.type', field.value ->> '$.n'
     from streams, json_each(streams.declaration, '$.fields') as field;`

/** The stream with the numbers its fields have in this file; those that are new get the next ones. */
export function numberFields(database: Sqlite, streamNumber: number, stream: Stream): Stream {
  const rows = database
    .prepare<{ name: string; type: string; n: number }>(
      'select name, type, n from fields where stream = ?',
    )
    .all(streamNumber)
  let last = Math.max(0, ...rows.map(({ n }) => n))
  const add = database.prepare('insert into fields (stream, name, type, n) values (?, ?, ?, ?)')
  const fields = stream.fields.map((field) => {
    const known = rows.find(({ name, type }) => name === field.name && type === field.type)
    if (known) return { ...field, n: known.n }
    last += 1
    add.run(streamNumber, field.name, field.type, last)
    return { ...field, n: last }
  })
  return { ...stream, fields }
}

/** Fields that were declared once, and are again, though not in the declaration before this one. */
export const listReturned = (
  database: Sqlite,
  streamNumber: number,
  former: Stream,
  stream: Stream,
): readonly string[] =>
  database
    .prepare<{ name: string }>('select distinct name from fields where stream = ?')
    .all(streamNumber)
    .map(({ name }) => name)
    .filter((name) => !hasField(former, name) && hasField(stream, name))

const hasField = ({ fields }: Stream, wanted: string): boolean =>
  fields.some(({ name }) => name === wanted)
