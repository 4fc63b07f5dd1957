import type { Stream } from '../sources/records/model.ts'
import type { Sqlite } from './sqlite.ts'

/** Every number that a field of a stream was ever given: none of them comes to mean another field. */
export const tableOfNumbers = `
   create table fields (
     stream integer not null, name text not null, n integer not null,
     primary key (stream, name), unique (stream, n)
   ) strict, without rowid;
   insert into fields (stream, name, n)
     select streams.n, json_extract(field.value, '$.name'), json_extract(field.value, '$.n')
     from streams, json_each(streams.declaration, '$.fields') as field;`

/** The stream with the numbers its fields have in this file; those that are new get the next ones. */
export function numberFields(database: Sqlite, streamNumber: number, stream: Stream): Stream {
  const rows = database
    .prepare<{ name: string; n: number }>('select name, n from fields where stream = ?')
    .all(streamNumber)
  const numbers = new Map(rows.map(({ name, n }) => [name, n]))
  let last = Math.max(0, ...numbers.values())
  const add = database.prepare('insert into fields (stream, name, n) values (?, ?, ?)')
  const fields = stream.fields.map((field) => {
    const known = numbers.get(field.name)
    if (known !== undefined) return { ...field, n: known }
    last += 1
    add.run(streamNumber, field.name, last)
    return { ...field, n: last }
  })
  return { ...stream, fields }
}
