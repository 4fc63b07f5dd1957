import type { SealedRows } from './seals/sealed-rows.ts'

/** Rows deleted per statement, so that no writer waits for a large deletion. */
export const maxPurgedRows = 1000

/** Deletes ended runs that started before a time. */
export function purgeRuns({ runs }: SealedRows, before: number) {
  return runs.deleteReturning(
    ['caller', 'capability', 'key'],
    `where id in (
       select id from runs where started < ? and state in ('done', 'failed') limit ?)`,
    before,
    maxPurgedRows,
  )
}

/** Deletes expired approvals; returns the largest number of any state. */
export function purgeApprovals({ approvals }: SealedRows, before: number): number {
  let max = 0
  for (const state of ['pending', 'approved', 'denied', 'used', 'void', 'expired']) {
    const count = approvals.delete(
      `where id in (
         select id from approvals where state = ? and created < ? and expires < ? limit ?)`,
      state,
      before,
      before,
      maxPurgedRows,
    )
    max = Math.max(max, count)
  }
  return max
}
