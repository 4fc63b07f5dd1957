import { isPlainObject } from '../../../json/is-plain-object.ts'
import { parseJson } from '../../../json/parse-json.ts'
import type { RecordBody } from '../../../sources/records/model/record-data.ts'
import type { Comparable, Field } from '../../../sources/records/model/stream.ts'
import type { PlacedRow, Row } from '../../../sources/records/record-store.ts'
import { type Bytes, toText } from '../../sqlite/bytes.ts'
import { type All, type Sql, sql } from '../../sqlite/sql.ts'
import { readBody } from './read-body.ts'

/** Many rows as two JSON texts: a driver returns one long text much faster than many short values. */
interface PackedRows {
  readonly heads: Bytes
  readonly bodies: Bytes | null
}

type Head = [arrival: number, key: string, emittedAt: string, sorted: Comparable | null]

/** A row whose body is its length in bytes when it is too long to be read with the others. */
export type LongRow<RowHead> = RowHead & LongBody

type LongBody = Pick<Row, 'isUnreadable'> & { readonly body: RecordBody | number }

/** Runs a query that returns `id, key, at, body, sorted`; the order of its rows is kept. */
export const readRows = (all: All, rows: Sql): LongRow<Omit<Row, 'body'>>[] =>
  readWith(all, rows, ([arrival, key, emittedAt], body) => ({ arrival, key, emittedAt, body }))

/** The same, with the position of each row in the order of a field. */
export const readPlacedRows = (
  all: All,
  rows: Sql,
  sort: Field | undefined,
): LongRow<Omit<PlacedRow, 'body'>>[] =>
  readWith(all, rows, ([arrival, key, emittedAt, sorted], body) => ({
    arrival,
    key,
    emittedAt,
    body,
    position: { value: sort ? fromExact(sort, sorted) : sorted, key },
  }))

function readWith<T extends object>(
  all: All,
  rows: Sql,
  toRow: (head: Head, body: LongBody['body']) => T,
): T[] {
  const [packed] = all<PackedRows>(pack(rows))
  if (!packed || packed.bodies === null) return []
  const heads = JSON.parse(toText(packed.heads)) as Head[]
  const bodies = toText(packed.bodies)
  const parsed = bodies.includes(replacementCharacter) ? undefined : parseJson(`[${bodies}]`)
  if (Array.isArray(parsed) && parsed.length === heads.length && parsed.every(isBody))
    return heads.map((head, index) => toRow(head, parsed[index]))
  return readSeparately(all, rows, toRow)
}

const pack = (rows: Sql): Sql => sql`
  select
    cast(json_group_array(json_array(id, key, at, ${toExact(sql`sorted`)})) as blob) as heads,
    cast(group_concat(body) as blob) as bodies
  from (${rows})`

const isBody = (value: unknown): boolean => typeof value === 'number' || isPlainObject(value)

/** Stands for invalid UTF-8 in decoded text; sound text may have it too. */
const replacementCharacter = '\ufffd'

/** Reads and parses each body by itself: a damaged one must not affect the others. */
const readSeparately = <T extends object>(
  all: All,
  rows: Sql,
  toRow: (head: Head, body: LongBody['body']) => T,
): T[] =>
  all<SeparateRow>(sql`
    select id, key, at, sorted, iif(typeof(body) = 'integer', body, cast(body as blob)) as body
    from (${rows})`).map(({ id, key, at, sorted, body }) => ({
    ...toRow([id, key, at, sorted], {}),
    ...(typeof body === 'number' ? { body } : readBody(body)),
  }))

interface SeparateRow {
  readonly id: number
  readonly key: string
  readonly at: string
  readonly sorted: Comparable | null
  readonly body: Bytes | number | null
}

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
