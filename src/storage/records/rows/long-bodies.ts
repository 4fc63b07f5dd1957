import { toData } from '../../../sources/records/grants/narrow-fields.ts'
import type { Scope } from '../../../sources/records/grants/scope.ts'
import type { Row } from '../../../sources/records/record-store.ts'
import { type All, id, sql } from '../../sqlite/sql.ts'
import type { Long } from './packed-rows.ts'
import { toWhere } from './record-sql.ts'

export interface Filled<T> {
  readonly rows: readonly T[]
  /** How many of the given rows were dealt with; the others are for another turn. */
  readonly done: number
}

/**
 * Reads the bodies that were too long to come along, as many of them as fit. Of those only what is
 * granted is kept: a page of them may be larger than the memory there is.
 */
export function fillLong<T extends Row>(
  all: All,
  scope: Scope,
  given: readonly Long<T>[],
  mostBytes: number,
): Filled<T> {
  const { wanted, done } = pickLong(given, mostBytes)
  if (wanted.length === 0) return { rows: given as readonly T[], done: given.length }
  const found = new Map(
    all<{ id: number; body: string }>(
      sql`select id, body from ${id('r', scope.source.n)} where id in (select value from json_each(${JSON.stringify(wanted)})) and ${toWhere(scope)}`,
    ).map((row) => [row.id, row.body]),
  )
  const fields = [...scope.fields.values()]
  const rows = given.slice(0, done).flatMap((row) => {
    if (typeof row.body !== 'number') return [row as T]
    const body = found.get(row.arrival)
    // Another process may have changed it a moment ago.
    return body === undefined ? [] : [{ ...row, body: toData(body, fields) } as unknown as T]
  })
  return { rows, done }
}

function pickLong<T extends Row>(
  rows: readonly Long<T>[],
  mostBytes: number,
): { readonly wanted: readonly number[]; readonly done: number } {
  const wanted: number[] = []
  let bytes = 0
  for (const [at, { arrival, body }] of rows.entries()) {
    if (typeof body !== 'number') continue
    bytes += body
    if (bytes > mostBytes && wanted.length > 0) return { wanted, done: at }
    wanted.push(arrival)
  }
  return { wanted, done: rows.length }
}
