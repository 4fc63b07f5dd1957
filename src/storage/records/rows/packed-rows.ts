import type { Comparable, Field } from '../../../sources/records/model/stream.ts'
import type { PlacedRow, Row } from '../../../sources/records/record-store.ts'
import { type Sql, sql } from '../../sqlite/sql.ts'

/** Many rows in one: a driver hands over one long text much faster than many short values. */
export interface Packed {
  readonly heads: string
  readonly bodies: string | null
}

type Head = [arrival: number, key: string, emittedAt: string, sorted: Comparable | null]

/** A row whose body is too long to come along with others: how many bytes there are. */
export type Long<T extends Row> = Omit<T, 'body'> & { readonly body: T['body'] | number }

/** Of a statement that gives `id, key, at, body, sorted`, in its order. */
export const pack = (rows: Sql): Sql =>
  sql`select json_group_array(json_array(id, key, at, ${exact(sql`sorted`)})) as heads, group_concat(body) as bodies from (${rows})`

/** What is in a row about its body: a long one is not even read. */
export const bodyUpTo = (most: number): Sql =>
  sql`iif(octet_length(body) > ${most}, octet_length(body), body)`

/** JSON of the engine has fifteen digits of a number; seventeen are all there are. */
export const exact = (column: Sql): Sql =>
  sql`case when typeof(${column}) <> 'real' then ${column} when ${column} = cast(${column} as integer) and abs(${column}) < 9e15 then cast(${column} as integer) else printf('%!.17g', ${column}) end`

/** The way back, by the type of the field. */
export const fromExact = ({ type }: Pick<Field, 'type'>, value: Comparable | null) =>
  value === null || type === 'string' ? value : Number(value)

export const unpackPlaced = (
  packed: Packed | undefined,
  sort: Field | undefined,
): Long<PlacedRow>[] =>
  unpackWith(packed, ([arrival, key, emittedAt, sorted], body) => ({
    arrival,
    key,
    emittedAt,
    body,
    position: { value: sort ? fromExact(sort, sorted) : sorted, key },
  }))

export const unpack = (packed: Packed | undefined): Long<Row>[] =>
  unpackWith(packed, ([arrival, key, emittedAt], body) => ({ arrival, key, emittedAt, body }))

function unpackWith<T>(
  packed: Packed | undefined,
  toRow: (head: Head, body: Long<Row>['body']) => T,
): T[] {
  if (!packed || packed.bodies === null) return []
  const heads = JSON.parse(packed.heads) as Head[]
  const bodies = JSON.parse(`[${packed.bodies}]`) as Long<Row>['body'][]
  return heads.map((head, index) => toRow(head, bodies[index] ?? {}))
}
