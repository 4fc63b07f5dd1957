import type { Scope } from '../../../sources/records/grants/scope.ts'
import type { Condition, Position } from '../../../sources/records/record-store.ts'
import { id, join, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'

/** The one place where what a grant shows becomes a condition on rows. */
export function toGranted({ window, keys }: Scope): readonly Sql[] {
  return [...(window ? inWindow(window) : []), ...(keys ? [areKeys(sql`key`, keys)] : [])]
}

export const areKeys = (column: Sql, keys: readonly string[]): Sql =>
  sql`${column} in (select value from json_each(${JSON.stringify(keys)}))`

/** Whether it is better to look up each record that is granted than to walk along all there are. */
export const hasFewKeys = ({ keys }: Scope, bounds: ReadBounds): boolean =>
  keys !== undefined && keys.length <= bounds.keys

export function inWindow({ field, from, to }: NonNullable<Scope['window']>): readonly Sql[] {
  // No number is before or after this, and nothing fits.
  if (field.n === 0 || !(from < to)) return [sql`0`]
  const column = id('f', field.n)
  const bounds = [
    ...(from === -Infinity ? [] : [sql`${column} >= ${from}`]),
    ...(to === Infinity ? [] : [sql`${column} < ${to}`]),
  ]
  return bounds.length > 0 ? bounds : [sql`${column} is not null`]
}

function toCondition({ field, operator, value }: Condition): Sql {
  const column = id('f', field.n)
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

/** Everything a row must be: what the grant says first, then what is asked. */
export const toWhere = (scope: Scope, conditions: readonly Condition[] = []): Sql =>
  and([...toGranted(scope), ...conditions.map(toCondition)])

export const and = (parts: readonly Sql[]): Sql =>
  parts.length === 0 ? sql`1` : join(parts, ' and ')

export interface Walk {
  readonly table: Sql
  /** Absent: in key order. */
  readonly column?: Sql
  readonly descending: boolean
  readonly after?: Position
  /** Bounds on the column itself, so that the walk begins and ends there. */
  readonly within: readonly Sql[]
  readonly rows: number
  /** What is needed of a row besides `id, key, at` and what it is sorted by. */
  readonly columns: readonly Sql[]
}

/** A bounded walk along an index, from a position on. */
export function toWalk({ table, column, descending, after, within, rows, columns }: Walk): Sql {
  const select = sql`select ${join([...always, ...columns], ', ')}, ${column ?? sql`null`} as sorted from ${table}`
  if (!column)
    return sql`${select} where ${and(beyondKey(descending, after))} ${byKey(descending)} limit ${rows}`
  const start = after ? [beyond(column, descending, after)] : []
  const order = descending ? sql`order by ${column} desc, key desc` : sql`order by ${column}, key`
  return sql`${select} where ${and([sql`${column} is not null`, ...within, ...start])} ${order} limit ${rows}`
}

const always = [sql`id`, sql`key`, sql`at`]

const beyond = (column: Sql, descending: boolean, { value, key }: Position): Sql =>
  descending
    ? sql`(${column}, key) < (${value}, ${key})`
    : sql`(${column}, key) > (${value}, ${key})`

function beyondKey(descending: boolean, after: Position | undefined): readonly Sql[] {
  if (!after || after.key === null) return []
  return [descending ? sql`key < ${after.key}` : sql`key > ${after.key}`]
}

const byKey = (descending: boolean): Sql =>
  descending ? sql`order by key desc` : sql`order by key`

/** Those without a value come last, whichever way round. */
export function toWalkOfMissing({ table, column, descending, after, rows, columns }: Walk): Sql {
  const start = beyondKey(descending, after)
  return sql`select ${join([...always, ...columns], ', ')}, null as sorted from ${table} where ${and([sql`${column ?? sql`0`} is null`, ...start])} ${byKey(descending)} limit ${rows}`
}

/** The first of a few rows that are found by what they must be, in the order of the walks above. */
export function toPick(
  { table, column, descending, after, rows }: Omit<Walk, 'within' | 'columns'>,
  where: Sql,
): Sql {
  if (!column)
    return sql`select id, null as sorted from ${table} where ${and([where, ...beyondKey(descending, after)])} ${byKey(descending)} limit ${rows}`
  const start = !after
    ? []
    : after.value === null
      ? [sql`${column} is null`, ...beyondKey(descending, after)]
      : [sql`(${column} is null or ${beyond(column, descending, after)})`]
  const order = descending ? sql`${column} desc, key desc` : sql`${column}, key`
  return sql`select id, ${column} as sorted from ${table} where ${and([where, ...start])} order by ${column} is null, ${order} limit ${rows}`
}

/** The columns that `toWhere` looks at, each once. */
export const listColumns = (
  { window }: Scope,
  conditions: readonly Condition[],
): readonly Sql[] => [
  ...new Map(
    [...(window ? [window.field] : []), ...conditions.map(({ field }) => field)]
      .filter(({ n }) => n > 0)
      .map(({ n }) => [n, id('f', n)]),
  ).values(),
]
