import type { Sqlite } from '../sqlite/sqlite.ts'

/** Rows deleted per statement, so that no writer waits for a large deletion. */
export const maxPurgedRows = 1000

/** Deletes ended runs that started before a time; returns their number. */
export function purgeRuns(database: Sqlite, before: number): number {
  return database
    .prepare(
      `delete from runs where id in (
         select id from runs where started < ? and state in ('done', 'failed') limit ?)`,
    )
    .run(before, maxPurgedRows).changes
}

/** Deletes expired approvals; returns the largest number of any state. */
export function purgeApprovals(database: Sqlite, before: number): number {
  let max = 0
  for (const state of ['pending', 'approved', 'denied', 'used', 'void', 'expired']) {
    const { changes } = database
      .prepare(
        `delete from approvals where id in (
           select id from approvals where state = ? and created < ? and expires < ? limit ?)`,
      )
      .run(state, before, before, maxPurgedRows)
    max = Math.max(max, changes)
  }
  return max
}
