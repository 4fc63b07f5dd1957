import type { Scope } from '../../../sources/records/model/scope.ts'
import type { LastUpdated } from '../../../sources/records/record-store.ts'
import { type All, join, sql } from '../../sqlite/sql.ts'
import { recordTable } from '../table-names.ts'
import { listColumns, toWhere } from './record-sql.ts'

/** When the newest granted record arrived, among at most `maxRows` rows below a number. */
export function scanLastUpdated(
  all: All,
  scope: Scope,
  below: number,
  maxRows: number,
): LastUpdated {
  const columns = [sql`seq`, sql`key`, sql`at`, ...listColumns(scope, [])]
  const scan = sql`
    select ${join(columns, ', ')} from ${recordTable(scope.source.n)}
    where seq < ${below} order by seq desc limit ${maxRows}`
  const [row] = all<{ at: string }>(sql`select at from (${scan}) where ${toWhere(scope)} limit 1`)
  if (row) return row
  const [end] = all<{ resume: number }>(
    sql`select seq as resume from (${scan}) limit 1 offset ${maxRows - 1}`,
  )
  return end ?? {}
}

/** Looks up every granted key instead of scanning. */
export function lookUpLastUpdated(all: All, scope: Scope, below: number): LastUpdated {
  // Unary + keeps SQLite's query planner from using the index on seq: it should look up the keys.
  const [row] = all<{ at: string }>(sql`
    select at from ${recordTable(scope.source.n)}
    where ${toWhere(scope)} and +seq < ${below} order by seq desc limit 1`)
  return row ?? {}
}
