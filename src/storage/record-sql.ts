import type { Condition, Position } from '../sources/records/record-store.ts'
import type { Scope } from '../sources/records/scope.ts'
import { id, join, type Sql, sql } from './sql.ts'

/** The one place where what a grant shows becomes a condition on rows. */
export function toGranted({ window, keys }: Scope): readonly Sql[] {
  return [
    ...(window ? inWindow(window) : []),
    ...(keys ? [sql`key in (select value from json_each(${JSON.stringify(keys)}))`] : []),
  ]
}

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
  /** Whether anything is asked of other columns afterwards. */
  readonly isWhole: boolean
}

/** A bounded walk along an index, from a position on. */
export function toWalk({ table, column, descending, after, within, rows, isWhole }: Walk): Sql {
  const columns = isWhole ? sql`id, key, at, body` : sql`*`
  const select = column
    ? sql`select ${columns}, ${column} as sorted from ${table}`
    : sql`select ${columns}, null as sorted from ${table}`
  if (!column) {
    const start = after ? [descending ? sql`key < ${after.key}` : sql`key > ${after.key}`] : []
    const order = descending ? sql`order by key desc` : sql`order by key`
    return sql`${select} where ${and(start)} ${order} limit ${rows}`
  }
  const start = after ? [beyond(column, descending, after)] : []
  const order = descending ? sql`order by ${column} desc, key desc` : sql`order by ${column}, key`
  return sql`${select} where ${and([sql`${column} is not null`, ...within, ...start])} ${order} limit ${rows}`
}

const beyond = (column: Sql, descending: boolean, { value, key }: Position): Sql =>
  descending
    ? sql`(${column}, key) < (${value}, ${key})`
    : sql`(${column}, key) > (${value}, ${key})`

/** Those without a value come last, whichever way round. */
export function toWalkOfMissing({ table, column, descending, after, rows }: Walk): Sql {
  const start =
    after && after.key !== null
      ? [descending ? sql`key < ${after.key}` : sql`key > ${after.key}`]
      : []
  const order = descending ? sql`order by key desc` : sql`order by key`
  return sql`select *, null as sorted from ${table} where ${and([sql`${column ?? sql`0`} is null`, ...start])} ${order} limit ${rows}`
}
