import type { Scope } from '../../../sources/records/model/scope.ts'
import type { Condition, Matches, MatchQuery } from '../../../sources/records/record-store.ts'
import { type All, sql } from '../../sqlite/sql.ts'
import { toWhere } from '../rows/record-sql.ts'
import { recordTable, wordColumn, wordTable } from '../table-names.ts'

/** True when every record of the source qualifies. */
export const isUnrestricted = (
  { window, keys }: Scope,
  conditions: readonly Condition[],
): boolean => !window && !keys && conditions.length === 0

/** The newest records with these words, among at most `maxMatches` matches of the full-text index. */
export function matchWords(all: All, scope: Scope, query: MatchQuery, maxMatches: number): Matches {
  const { words, fields, conditions, below, limit } = query
  // Columns are named even when all are searched: the index may have more since a redeclaration.
  const columns = fields.map(({ n }) => wordColumn(n)).join(' ')
  const expression = words.map((word) => `({${columns}} : "${word}")`).join(' AND ')
  const index = wordTable(scope.source.n)
  const table = recordTable(scope.source.n)
  const isWhole = isUnrestricted(scope, conditions)
  // The cast: drivers bind numbers as REAL, and FTS5 can start a scan only at an INTEGER rowid.
  const matches = sql`
    select rowid as id from ${index}
    where ${index} match ${expression} and rowid < cast(${below} as integer)
    order by rowid desc limit ${maxMatches}`
  const qualifies = isWhole
    ? sql`1`
    : sql`exists (
      select 1 from ${table}
      where ${table}.id = matches.id and ${toWhere(scope, conditions)})`
  const [row] = all<{ ids: string }>(sql`
    select json_group_array(id) as ids
    from (select id from (${matches}) as matches where ${qualifies} limit ${limit})`)
  const arrivals = JSON.parse(row?.ids ?? '[]') as number[]
  const oldest = arrivals.at(-1)
  if (arrivals.length === limit && oldest !== undefined) return { arrivals, resume: oldest }
  if (isWhole) return { arrivals }
  const [last] = all<{ id: number }>(
    sql`select id from (${matches}) limit 1 offset ${maxMatches - 1}`,
  )
  return last ? { arrivals, resume: last.id } : { arrivals }
}

/**
 * Returns every granted key as a candidate, for the caller to check: the time it takes must not reveal how
 * many other records have the words.
 */
export function matchKeys(
  all: All,
  scope: Scope,
  { conditions, below, limit }: MatchQuery,
): Matches {
  // Unary + keeps SQLite's query planner from scanning by id: it should look up the keys.
  const arrivals = all<{ id: number }>(sql`
    select id from ${recordTable(scope.source.n)}
    where ${toWhere(scope, conditions)} and +id < ${below}
    order by id desc limit ${limit}`).map((row) => row.id)
  const oldest = arrivals.at(-1)
  return arrivals.length === limit && oldest !== undefined
    ? { arrivals, resume: oldest }
    : { arrivals }
}
