import type { Comparable, Field } from '../../../sources/records/model/stream.ts'
import { type Bytes, toText } from '../../sqlite/bytes.ts'
import { type All, join, name, type Sql, sql } from '../../sqlite/sql.ts'
import { fromExact, toExact } from '../rows/packed-rows.ts'
import { recordTable, valueColumn } from '../table-names.ts'

export type ColumnField = Pick<Field, 'n' | 'type'>
export type Values = (Comparable | null)[]

/** The record ids are stored as a column, too: the one with number 0. */
export const arrivals: ColumnField = { n: 0, type: 'integer' }

/** Reads fields of some records, each field as one JSON array. */
export function readColumns(
  all: All,
  n: number,
  fields: readonly ColumnField[],
  filter: Sql,
): readonly Values[] {
  const columns = fields.map((field) => (field.n === 0 ? sql`id` : valueColumn(field.n)))
  const packedColumns = columns.map((column, at) => {
    const type = fields[at]?.type
    const value = type === 'number' || type === 'integer' ? toExact(column) : column
    return sql`cast(json_group_array(${value}) as blob) as ${name`column${at}`}`
  })
  const [row] = all<Readonly<Record<string, Bytes>>>(sql`
    select ${join(packedColumns, ', ')}
    from (select ${join(columns, ', ')} from ${recordTable(n)} where ${filter})`)
  return fields.map((field, at) => {
    const bytes = row?.[`column${at}`]
    const values = (bytes ? JSON.parse(toText(bytes)) : []) as Values
    return field.type === 'string' ? values : values.map((value) => fromExact(field, value))
  })
}
