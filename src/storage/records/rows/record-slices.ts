import type { Scope } from '../../../sources/records/model/scope.ts'
import type { Field } from '../../../sources/records/model/stream.ts'
import type {
  Condition,
  PlacedRow,
  Position,
  Slice,
  SliceQuery,
} from '../../../sources/records/record-store.ts'
import { type All, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { recordTable, valueColumn } from '../table-names.ts'
import { fillLongBodies } from './long-bodies.ts'
import { bodyOrLength, type LongRow, readPlacedRows } from './packed-rows.ts'
import {
  type IndexScan,
  inWindow,
  listColumns,
  toIndexScan,
  toLookup,
  toNullScan,
  toWhere,
} from './record-sql.ts'

/** One page by keyset pagination: scans at most `maxRows` rows of an index and keeps those that match. */
export function scanSlice(
  all: All,
  scope: Scope,
  query: SliceQuery,
  bounds: ReadBounds,
  maxRows: number,
): Slice {
  const { sort, descending, after, conditions, limit } = query
  const toScan = isAmongNulls(query) ? toNullScan : toIndexScan
  const everyRowMatches = matchesWholeScan(scope, query)
  const equalTo = toEqualities(sort, conditions)
  const table = recordTable(scope.source.n)
  const body = bodyOrLength(bounds.maxInlineBodyBytes)
  const scan: IndexScan = {
    table,
    column: sort && valueColumn(sort.n),
    descending,
    after,
    within: [...(sort && scope.window?.field === sort ? inWindow(scope.window) : []), ...equalTo],
    rows: maxRows,
    columns: everyRowMatches ? [sql`${body} as body`] : listColumns(scope, conditions),
  }
  const matches = everyRowMatches
    ? toScan(scan)
    : sql`
      select id, key, at,
        (select ${body} from ${table} where ${table}.id = scan.id) as body,
        sorted
      from (${toScan(scan)}) as scan
      where ${toWhere(scope, conditions)} limit ${limit}`
  const longRows = readPlacedRows(all, matches, sort)
  const { rows, isCut, last } = fill(all, scope, longRows, bounds)
  if (last && (isCut || longRows.length === limit)) return { rows, resume: last }
  const end = everyRowMatches ? undefined : findScanEnd(all, toScan(withoutColumns(scan)), maxRows)
  if (end) return { rows, resume: end }
  // Rows without a value come after all that have one.
  return sort && toScan === toIndexScan && equalTo.length === 0
    ? { rows, resume: { value: null, key: null } }
    : { rows }
}

/** Looks up every granted key: the time it takes must not reveal how many other records there are. */
export function lookUpSlice(all: All, scope: Scope, query: SliceQuery, bounds: ReadBounds): Slice {
  const { sort, descending, after, conditions, limit } = query
  const table = recordTable(scope.source.n)
  const lookup = toLookup(
    {
      table,
      column: sort && valueColumn(sort.n),
      descending,
      after,
      rows: limit,
    },
    toWhere(scope, conditions),
  )
  const matches = sql`
    select id, key, at, ${bodyOrLength(bounds.maxInlineBodyBytes)} as body, sorted
    from (${lookup}) cross join ${table} using (id)`
  const longRows = readPlacedRows(all, matches, sort)
  const { rows, isCut, last } = fill(all, scope, longRows, bounds)
  return last && (isCut || longRows.length === limit) ? { rows, resume: last } : { rows }
}

function fill(
  all: All,
  scope: Scope,
  longRows: readonly LongRow<Omit<PlacedRow, 'body'>>[],
  { maxLongBodyBytes }: ReadBounds,
) {
  const { rows, inputCount } = fillLongBodies(all, scope, longRows, maxLongBodyBytes)
  return { rows, isCut: inputCount < longRows.length, last: longRows[inputCount - 1]?.position }
}

const withoutColumns = (scan: IndexScan): IndexScan => ({ ...scan, columns: [] })

/** The position of the last scanned row; `undefined` when the scan reached the end of the index. */
function findScanEnd(all: All, scan: Sql, maxRows: number): Position | undefined {
  const [end] = all<{ key: string; sorted: Position['value'] }>(
    sql`select key, sorted from (${scan}) limit 1 offset ${maxRows - 1}`,
  )
  return end && { value: end.sorted, key: end.key }
}

const isAmongNulls = ({ sort, after }: SliceQuery): boolean =>
  sort !== undefined && after?.value === null

/** True when every scanned row matches: a time range on the sorted field only limits the scan. */
export const matchesWholeScan = ({ window, keys }: Scope, query: SliceQuery): boolean =>
  (!window || (window.field === query.sort && !isAmongNulls(query))) &&
  !keys &&
  query.conditions.length === 0

/** Equality conditions on the sorted field limit the scan to that value. */
const toEqualities = (sort: Field | undefined, conditions: readonly Condition[]): readonly Sql[] =>
  conditions.flatMap(({ field, operator, value }) =>
    field === sort && operator === 'eq' ? [sql`${valueColumn(field.n)} = ${value}`] : [],
  )
