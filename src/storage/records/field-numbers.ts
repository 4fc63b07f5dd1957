import type { Stream } from '../../sources/records/model/stream.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

/** The number of a field stands for one name with one type, for ever. Numbers are never reused. */
export const createFieldNumbers = `
   create table fields (
     stream integer not null, name text not null, type text not null, n integer not null,
     primary key (stream, name, type), unique (stream, n)
   ) strict, without rowid;
   insert into fields (stream, name, type, n)
     select streams.n, field.value ->> '$.name', field.value ->> '$.type', field.value ->> '$.n'
     from streams, json_each(streams.declaration, '$.fields') as field;`

/** Sets the numbers that the fields have in this file; new fields get the next free ones. */
export function numberFields(database: Sqlite, streamNumber: number, stream: Stream): Stream {
  const rows = database
    .prepare<{ name: string; type: string; n: number }>(
      'select name, type, n from fields where stream = ?',
    )
    .all(streamNumber)
  let last = Math.max(0, ...rows.map(({ n }) => n))
  const add = database.prepare('insert into fields (stream, name, type, n) values (?, ?, ?, ?)')
  const fields = stream.fields.map((field) => {
    const row = rows.find(({ name, type }) => name === field.name && type === field.type)
    if (row) return { ...field, n: row.n }
    last += 1
    add.run(streamNumber, field.name, field.type, last)
    return { ...field, n: last }
  })
  return { ...stream, fields }
}

/** Fields of the new declaration that an older one had, but not the former one. */
export const listReturningFields = (
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

const hasField = ({ fields }: Stream, fieldName: string): boolean =>
  fields.some(({ name }) => name === fieldName)
