import type { RecordBody } from '../../../sources/records/model/record-data.ts'
import type { Comparable, Field } from '../../../sources/records/model/stream.ts'
import type { PlacedRow, Row } from '../../../sources/records/record-store.ts'
import { type Sql, sql } from '../../sqlite/sql.ts'

/** Many rows as two JSON texts: a driver returns one long text much faster than many short values. */
export interface PackedRows {
  readonly heads: string
  readonly bodies: string | null
}

type Head = [arrival: number, key: string, emittedAt: string, sorted: Comparable | null]

/** A row whose body is its length in bytes when it is too long to be read with the others. */
export type LongRow<RowHead> = RowHead & { readonly body: RecordBody | number }

/** Packs a query that returns `id, key, at, body, sorted`; the order of its rows is kept. */
export const pack = (rows: Sql): Sql => sql`
  select
    json_group_array(json_array(id, key, at, ${toExact(sql`sorted`)})) as heads,
    group_concat(body) as bodies
  from (${rows})`

/** The body, or its length where it is longer: SQLite does not even read a long one then. */
export const bodyOrLength = (maxBytes: number): Sql =>
  sql`iif(octet_length(body) > ${maxBytes}, octet_length(body), body)`

/** SQLite's JSON keeps 15 digits of a number; a double needs 17 to survive the round trip. */
export const toExact = (column: Sql): Sql => sql`
  case
    when typeof(${column}) <> 'real' then ${column}
    when ${column} = cast(${column} as integer) and abs(${column}) < 9e15
      then cast(${column} as integer)
    else printf('%!.17g', ${column})
  end`

/** The inverse of `toExact`. */
export const fromExact = ({ type }: Pick<Field, 'type'>, value: Comparable | null) =>
  value === null || type === 'string' ? value : Number(value)

export const unpackPlaced = (
  packed: PackedRows | undefined,
  sort: Field | undefined,
): LongRow<Omit<PlacedRow, 'body'>>[] =>
  unpackWith(packed, ([arrival, key, emittedAt, sorted], body) => ({
    arrival,
    key,
    emittedAt,
    body,
    position: { value: sort ? fromExact(sort, sorted) : sorted, key },
  }))

export const unpack = (packed: PackedRows | undefined): LongRow<Omit<Row, 'body'>>[] =>
  unpackWith(packed, ([arrival, key, emittedAt], body) => ({ arrival, key, emittedAt, body }))

function unpackWith<T>(
  packed: PackedRows | undefined,
  toRow: (head: Head, body: RecordBody | number) => T,
): T[] {
  if (!packed || packed.bodies === null) return []
  const heads = JSON.parse(packed.heads) as Head[]
  const bodies = JSON.parse(`[${packed.bodies}]`) as (RecordBody | number)[]
  return heads.map((head, index) => toRow(head, bodies[index] ?? {}))
}
