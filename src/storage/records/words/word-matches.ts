import type { Scope } from '../../../sources/records/grants/scope.ts'
import type { Condition, Matches, MatchQuery } from '../../../sources/records/record-store.ts'
import { type All, id, sql } from '../../sqlite/sql.ts'
import { toWhere } from '../rows/record-sql.ts'

/** Whether all records of a source are meant. */
export const isUnlimited = ({ window, keys }: Scope, conditions: readonly Condition[]): boolean =>
  !window && !keys && conditions.length === 0

/** The newest that have the words, among so many that the index holds. */
export function matchWords(all: All, scope: Scope, query: MatchQuery, most: number): Matches {
  const { words, fields, conditions, below, limit } = query
  // Named also where all are meant: a stream that was declared anew may have others by now.
  const columns = fields.map(({ n }) => `c${n}`).join(' ')
  const expression = words.map((word) => `({${columns}} : "${word}")`).join(' AND ')
  const index = id('s', scope.source.n)
  const table = id('r', scope.source.n)
  const isWhole = isUnlimited(scope, conditions)
  // Only a whole number is a place in the index where it can begin; a driver's numbers are none.
  const matches = sql`select rowid as id from ${index} where ${index} match ${expression} and rowid < cast(${below} as integer) order by rowid desc limit ${most}`
  const fits = isWhole
    ? sql`1`
    : sql`exists (select 1 from ${table} where ${table}.id = matches.id and ${toWhere(scope, conditions)})`
  const [found] = all<{ ids: string }>(
    sql`select json_group_array(id) as ids from (select id from (${matches}) as matches where ${fits} limit ${limit})`,
  )
  const arrivals = JSON.parse(found?.ids ?? '[]') as number[]
  const oldest = arrivals.at(-1)
  if (arrivals.length === limit && oldest !== undefined) return { arrivals, resume: oldest }
  if (isWhole) return { arrivals }
  const [last] = all<{ id: number }>(sql`select id from (${matches}) limit 1 offset ${most - 1}`)
  return { arrivals, ...(last && { resume: last.id }) }
}

/** Where the records are named, each may match: how many others have the words must not show. */
export function matchKeys(
  all: All,
  scope: Scope,
  { conditions, below, limit }: MatchQuery,
): Matches {
  const arrivals = all<{ id: number }>(
    sql`select id from ${id('r', scope.source.n)} where ${toWhere(scope, conditions)} and +id < ${below} order by id desc limit ${limit}`,
  ).map((row) => row.id)
  const oldest = arrivals.at(-1)
  return {
    arrivals,
    ...(arrivals.length === limit && oldest !== undefined && { resume: oldest }),
  }
}
