import type { Comparable, Field } from '../../../sources/records/model/stream.ts'
import { id, join, type Sql, sql } from '../../sqlite/sql.ts'
import { exact, fromExact } from '../rows/packed-rows.ts'

export type ColumnField = Pick<Field, 'n' | 'type'>
export type Values = (Comparable | null)[]

/** The numbers of the records themselves, among the columns. */
export const arrivals: ColumnField = { n: 0, type: 'integer' }

/** Some fields of some records of a source, each field as one text. */
export function readColumns(
  all: <Row>(query: Sql) => Row[],
  n: number,
  fields: readonly ColumnField[],
  which: Sql,
): readonly Values[] {
  const names = fields.map((field) => (field.n === 0 ? sql`id` : id('f', field.n)))
  const packed = names.map((name, at) => {
    const type = fields[at]?.type
    const column = type === 'number' || type === 'integer' ? exact(name) : name
    return sql`json_group_array(${column}) as ${id('c', at)}`
  })
  const [row] = all<Readonly<Record<string, string>>>(
    sql`select ${join(packed, ', ')} from (select ${join(names, ', ')} from ${id('r', n)} where ${which})`,
  )
  return fields.map((field, at) => {
    const values = JSON.parse(row?.[`c${at}`] ?? '[]') as Values
    return field.type === 'string' ? values : values.map((value) => fromExact(field, value))
  })
}
