import type { Scope } from '../../../sources/records/model/scope.ts'
import type { Condition, Position } from '../../../sources/records/record-store.ts'
import { join, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { valueColumn } from '../table-names.ts'

/** Translates a grant into SQL conditions on rows. Column scans apply the time range themselves (`columns/column-scan.ts`). */
export function toGranted({ window, keys }: Scope): readonly Sql[] {
  return [...(window ? inWindow(window) : []), ...(keys ? [areKeys(sql`key`, keys)] : [])]
}

export const areKeys = (column: Sql, keys: readonly string[]): Sql =>
  sql`${column} in (select value from json_each(${JSON.stringify(keys)}))`

/** True when looking up each granted key is cheaper than scanning an index. */
export const hasFewKeys = ({ keys }: Scope, bounds: ReadBounds): boolean =>
  keys !== undefined && keys.length <= bounds.maxLookupKeys

export function inWindow({ field, from, to }: NonNullable<Scope['window']>): readonly Sql[] {
  // An undeclared field or an empty range matches no row.
  if (field.n === 0 || !(from < to)) return [sql`0`]
  const column = valueColumn(field.n)
  const limits = [
    ...(from === -Infinity ? [] : [sql`${column} >= ${from}`]),
    ...(to === Infinity ? [] : [sql`${column} < ${to}`]),
  ]
  return limits.length > 0 ? limits : [sql`${column} is not null`]
}

function toCondition({ field, operator, value }: Condition): Sql {
  const column = valueColumn(field.n)
  switch (operator) {
    case 'eq':
      return sql`${column} = ${value}`
    case 'gte':
      return sql`${column} >= ${value}`
    case 'gt':
      return sql`${column} > ${value}`
    case 'lte':
      return sql`${column} <= ${value}`
    case 'lt':
      return sql`${column} < ${value}`
  }
}

/** All conditions on a row: those of the grant first, then those of the query. */
export const toWhere = (scope: Scope, conditions: readonly Condition[] = []): Sql =>
  and([...toGranted(scope), ...conditions.map(toCondition)])

export const and = (parts: readonly Sql[]): Sql =>
  parts.length === 0 ? sql`1` : join(parts, ' and ')

export interface IndexScan {
  readonly table: Sql
  /** The column to sort by; by key when absent. */
  readonly column: Sql | undefined
  readonly descending: boolean
  readonly after: Position | undefined
  /** Conditions on the sorted column itself: they limit the range of the index. */
  readonly within: readonly Sql[]
  readonly rows: number
  /** Columns to read besides `id, key, at` and the sorted column. */
  readonly columns: readonly Sql[]
}

/** Keyset pagination: a bounded scan of an index that starts after a position. */
export function toIndexScan(scan: IndexScan): Sql {
  const { table, column, descending, after, within, rows, columns } = scan
  const select = sql`
    select ${join([...rowColumns, ...columns], ', ')}, ${column ?? sql`null`} as sorted
    from ${table}`
  if (!column)
    return sql`${select}
      where ${and(afterKey(descending, after))}
      ${byKey(descending)} limit ${rows}`
  const start = after ? [afterPosition(column, descending, after)] : []
  return sql`${select}
    where ${and([sql`${column} is not null`, ...within, ...start])}
    order by ${byColumn(column, descending)} limit ${rows}`
}

const rowColumns = [sql`id`, sql`key`, sql`at`]

const afterPosition = (column: Sql, descending: boolean, { value, key }: Position): Sql =>
  descending
    ? sql`(${column}, key) < (${value}, ${key})`
    : sql`(${column}, key) > (${value}, ${key})`

function afterKey(descending: boolean, after: Position | undefined): readonly Sql[] {
  if (!after || after.key === null) return []
  return [descending ? sql`key < ${after.key}` : sql`key > ${after.key}`]
}

const byKey = (descending: boolean): Sql =>
  descending ? sql`order by key desc` : sql`order by key`

const byColumn = (column: Sql, descending: boolean): Sql =>
  descending ? sql`${column} desc, key desc` : sql`${column}, key`

/** Scans the rows without a value, which come last in both directions. */
export function toNullScan({ table, column, descending, after, rows, columns }: IndexScan): Sql {
  const start = afterKey(descending, after)
  return sql`
    select ${join([...rowColumns, ...columns], ', ')}, null as sorted
    from ${table}
    where ${and([sql`${column ?? sql`0`} is null`, ...start])}
    ${byKey(descending)} limit ${rows}`
}

/** Picks rows by condition instead of by scan, in the same order as the scans above. */
export function toLookup(
  { table, column, descending, after, rows }: Omit<IndexScan, 'within' | 'columns'>,
  where: Sql,
): Sql {
  if (!column)
    return sql`
      select id, null as sorted from ${table}
      where ${and([where, ...afterKey(descending, after)])}
      ${byKey(descending)} limit ${rows}`
  const start = !after
    ? []
    : after.value === null
      ? [sql`${column} is null`, ...afterKey(descending, after)]
      : [sql`(${column} is null or ${afterPosition(column, descending, after)})`]
  return sql`
    select id, ${column} as sorted from ${table}
    where ${and([where, ...start])}
    order by ${column} is null, ${byColumn(column, descending)} limit ${rows}`
}

/** The columns that `toWhere` refers to, each once. */
export const listColumns = (
  { window }: Scope,
  conditions: readonly Condition[],
): readonly Sql[] => [
  ...new Map(
    [...(window ? [window.field] : []), ...conditions.map(({ field }) => field)]
      .filter(({ n }) => n > 0)
      .map(({ n }) => [n, valueColumn(n)]),
  ).values(),
]
