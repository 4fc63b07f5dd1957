import type { Scope } from '../../../sources/records/model/scope.ts'
import { isTime } from '../../../sources/records/model/stream.ts'
import type { Tally, TallyQuery } from '../../../sources/records/record-store.ts'
import { type All, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { recordTable, valueColumn } from '../table-names.ts'
import { toWhere } from './record-sql.ts'

/** The last of the next rows to count in one slice: bounded in rows and in bytes. */
export function findEndOfSpan(
  all: All,
  scope: Scope,
  { after, group, distinct }: TallyQuery,
  { maxCountedRows, maxGroupedRows, maxCountedBytes }: ReadBounds,
): number | undefined {
  const sizes = sql`
    select id, octet_length(body) as size from ${recordTable(scope.source.n)}
    where id > ${after} order by id limit ${group || distinct ? maxGroupedRows : maxCountedRows}`
  const [row] = all<{ last: number | null }>(
    sql`
      select max(id) as last
      from (select id, sum(size) over (order by id) - size as before from (${sizes}))
      where before < ${maxCountedBytes}`,
  )
  return row?.last ?? undefined
}

interface Span {
  readonly last: number
  /** True when rows are scanned by id, false when they are looked up by key. */
  readonly isScanned: boolean
}

export function tallyRows(
  all: All,
  scope: Scope,
  query: TallyQuery,
  { last, isScanned }: Span,
): readonly Tally[] {
  const { after, conditions, field, group, distinct } = query
  const table = recordTable(scope.source.n)
  const value = field ? valueColumn(field.n) : sql`null`
  // Unary + keeps SQLite's query planner from scanning by id: it should look up the keys.
  const arrival = isScanned ? sql`id` : sql`+id`
  const where = sql`
    ${arrival} > ${after} and ${arrival} <= ${last}
      and ${toWhere(scope, conditions)}`
  if (distinct)
    return all<Tally>(sql`
      select ${value} as "group", count(*) as count, count(${value}) as valueCount,
        0 as sum, null as min, null as max
      from ${table} where ${where} group by 1`)
  const by = group ? toGroup(valueColumn(group.field.n), group.step) : sql`null`
  const buckets = group?.buckets
  const isNumber = field !== undefined && field.type !== 'string' && !isTime(field)
  const sum = isNumber ? sql`coalesce(sum(${value}), 0)` : sql`0`
  return all<Tally>(sql`
    select ${by} as "group", count(*) as count, count(${value}) as valueCount,
      ${sum} as sum, min(${value}) as min, max(${value}) as max
    from ${table} where ${where} group by 1`).map((tally) =>
    buckets && tally.group !== null
      ? { ...tally, group: buckets.representativeTime(buckets.bucketAt(Number(tally.group))) }
      : tally,
  )
}

/** Rounds a time down to its step (floor modulo, so that times before 1970 work too). */
const toGroup = (column: Sql, step: number | undefined): Sql =>
  step === undefined ? column : sql`${column} - ((${column} % ${step}) + ${step}) % ${step}`
