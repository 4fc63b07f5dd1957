import { toData } from '../../../sources/records/model/record-data.ts'
import type { Scope } from '../../../sources/records/model/scope.ts'
import type { Row } from '../../../sources/records/record-store.ts'
import type { Bytes } from '../../sqlite/bytes.ts'
import { type All, sql } from '../../sqlite/sql.ts'
import { recordTable } from '../table-names.ts'
import type { LongRow } from './packed-rows.ts'
import { readBody } from './read-body.ts'
import { toWhere } from './record-sql.ts'

export interface FilledRows<RowHead> {
  readonly rows: readonly (RowHead & Pick<Row, 'body' | 'isUnreadable'>)[]
  /** How many of the input rows were handled; the rest is left to the next slice. */
  readonly inputCount: number
}

/**
 * Reads the bodies that `bodyOrLength` left out, up to a number of bytes. They are reduced to the granted
 * fields at once: a page of long bodies may be larger than the memory.
 */
export function fillLongBodies<RowHead extends { readonly arrival: number }>(
  all: All,
  scope: Scope,
  longRows: readonly LongRow<RowHead>[],
  maxBytes: number,
): FilledRows<RowHead> {
  const { ids, inputCount } = pickLong(longRows, maxBytes)
  if (ids.length === 0)
    return { rows: longRows as FilledRows<RowHead>['rows'], inputCount: longRows.length }
  const bodies = new Map(
    all<{ id: number; body: Bytes }>(
      sql`
        select cast(id as integer) as id, cast(body as blob) as body
        from ${recordTable(scope.source.n)}
        where id in (select value from json_each(${JSON.stringify(ids)}))
          and ${toWhere(scope)}`,
    ).map((row) => [row.id, row.body]),
  )
  const fields = [...scope.fields.values()]
  const rows = longRows.slice(0, inputCount).flatMap((row) => {
    if (typeof row.body !== 'number') return [{ ...row, body: row.body }]
    const bytes = bodies.get(row.arrival)
    // Another process may have changed or deleted the record in the meantime.
    if (bytes === undefined) return []
    const stored = readBody(bytes)
    return [{ ...row, ...stored, body: toData(stored.body, fields) }]
  })
  return { rows, inputCount }
}

function pickLong(
  rows: readonly LongRow<{ readonly arrival: number }>[],
  maxBytes: number,
): { readonly ids: readonly number[]; readonly inputCount: number } {
  const ids: number[] = []
  let bytes = 0
  for (const [at, { arrival, body }] of rows.entries()) {
    if (typeof body !== 'number') continue
    bytes += body
    if (bytes > maxBytes && ids.length > 0) return { ids, inputCount: at }
    ids.push(arrival)
  }
  return { ids, inputCount: rows.length }
}
