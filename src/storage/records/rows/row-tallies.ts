import type { Scope } from '../../../sources/records/grants/scope.ts'
import { isTime } from '../../../sources/records/model/stream.ts'
import type { Tally, TallyQuery } from '../../../sources/records/record-store.ts'
import { type All, id, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { toWhere } from './record-sql.ts'

/** The last of the next rows that are counted at once: long ones take long to pass by, too. */
export function findEndOfSpan(
  all: All,
  scope: Scope,
  { after, group, distinct }: TallyQuery,
  { counted, grouped, passed }: ReadBounds,
): number | undefined {
  const sizes = sql`select id, octet_length(body) as size from ${id('r', scope.source.n)} where id > ${after} order by id limit ${group || distinct ? grouped : counted}`
  const [row] = all<{ last: number | null }>(
    sql`select max(id) as last from (select id, sum(size) over (order by id) - size as before from (${sizes})) where before < ${passed}`,
  )
  return row?.last ?? undefined
}

interface Span {
  readonly last: number
  /** Whether the rows are walked along, instead of being looked up by their keys. */
  readonly isWalked: boolean
}

export function tallyRows(
  all: All,
  scope: Scope,
  query: TallyQuery,
  { last, isWalked }: Span,
): readonly Tally[] {
  const { after, conditions, field, group, distinct } = query
  const table = id('r', scope.source.n)
  const value = field ? id('f', field.n) : sql`null`
  // With a sign before it, it is no reason to walk along all there are.
  const place = isWalked ? sql`id` : sql`+id`
  const where = sql`${place} > ${after} and ${place} <= ${last} and ${toWhere(scope, conditions)}`
  if (distinct)
    return all<Tally>(
      sql`select ${value} as "group", count(*) as count, count(${value}) as valued, 0 as sum, null as min, null as max from ${table} where ${where} group by 1`,
    )
  const by = group ? toGroup(id('f', group.field.n), group.step) : sql`null`
  const buckets = group?.buckets
  const isNumber = field !== undefined && field.type !== 'string' && !isTime(field)
  const sum = isNumber ? sql`coalesce(sum(${value}), 0)` : sql`0`
  return all<Tally>(
    sql`select ${by} as "group", count(*) as count, count(${value}) as valued, ${sum} as sum, min(${value}) as min, max(${value}) as max from ${table} where ${where} group by 1`,
  ).map((tally) =>
    buckets && tally.group !== null
      ? { ...tally, group: buckets.timeIn(buckets.of(Number(tally.group))) }
      : tally,
  )
}

/** The start of the step that a time falls into, also before 1970. */
const toGroup = (column: Sql, step: number | undefined): Sql =>
  step === undefined ? column : sql`${column} - ((${column} % ${step}) + ${step}) % ${step}`
