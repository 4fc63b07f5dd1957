import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { countRecords } from '../aggregate/aggregate-records.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import { type CursorBinding, openCursor, sealCursor } from '../reading/cursor.ts'
import { toConditions } from '../reading/filter.ts'
import { findScope } from '../reading/find-scope.ts'
import { toFields } from '../reading/project-fields.ts'
import { type Reader, yieldAndCheck } from '../reading/reader.ts'
import type { PlacedRow, Position, Row, SliceQuery } from '../record-store.ts'
import { expandPage, toClampedExpansions, toExpansions } from './expand.ts'
import { readChanges } from './read-changes.ts'
import {
  invalidCursor,
  type RecordPage,
  type RecordsQuery,
  toPageSize,
  toRecord,
} from './record-page.ts'

/** Reads one page of one source, or of its changes. */
export async function queryRecords(
  reader: Reader,
  query: RecordsQuery,
): Promise<RecordPage | Failed> {
  const scope = findScope(reader, query)
  if (isFailed(scope)) return scope
  const fields = toFields(scope, query)
  if (isFailed(fields)) return fields
  if (query.changesSince !== undefined) return readChanges(reader, scope, fields, query)
  const order = toOrder(scope, query)
  if (isFailed(order)) return order
  const conditions = toConditions(scope, query.filter)
  if (isFailed(conditions)) return conditions
  const expansions = toExpansions(reader, scope, query)
  if (isFailed(expansions)) return expansions
  const binding = toBinding(reader, scope, query, order)
  const after = query.cursor === undefined ? undefined : toPosition(reader, binding, query.cursor)
  if (query.cursor !== undefined && !after) return invalidCursor()
  const slice = { ...order, conditions, after }
  const page = await collectRows(reader, scope, slice, toPageSize(query))
  if (isFailed(page)) return page
  const { rows, end } = page
  const count =
    query.count === 'exact' || query.count === 'estimated'
      ? await countRecords(reader, scope, conditions)
      : undefined
  if (isFailed(count)) return count
  const rowRecords = rows.map((row) => toRecord(scope, fields, row))
  const records = await expandPage(reader, scope, rows, rowRecords, expansions)
  if (isFailed(records)) return records
  const nextCursor = end && sealCursor(reader.store.key, binding, [end.value, end.key])
  return {
    scope,
    fields,
    records,
    keys: rows.map(({ key }) => key),
    hasMore: end !== undefined,
    nextCursor,
    count,
    warnings: toClampedExpansions(expansions, query),
  }
}

interface CollectedRows {
  readonly rows: readonly Row[]
  /** Start position of the next page, if there is one. */
  readonly end?: Position | undefined
}

/** Reads slices until there is one row more than the limit, or the end is reached. */
async function collectRows(
  reader: Reader,
  scope: Scope,
  query: Omit<SliceQuery, 'limit'>,
  limit: number,
): Promise<CollectedRows | Failed> {
  const rows: PlacedRow[] = []
  let after = query.after
  // An unfiltered page is one short index scan; a filtered one can be long, so it yields first.
  const timeout = query.conditions.length > 0 ? await yieldAndCheck(reader) : undefined
  if (timeout) return timeout
  for (;;) {
    const slice = reader.store.slice(scope, {
      ...query,
      after,
      limit: limit + 1 - rows.length,
    })
    rows.push(...slice.rows)
    if (rows.length > limit) {
      const page = rows.slice(0, limit)
      return { rows: page, end: page.at(-1)?.position }
    }
    if (!slice.resume) return { rows }
    after = slice.resume
    const stop = await yieldAndCheck(reader)
    if (stop) return stop
  }
}

interface Order {
  readonly sort: Field | undefined
  readonly descending: boolean
}

function toOrder({ source, fields }: Scope, { sort, order }: RecordsQuery): Order | Failed {
  const { cursorField, name } = source.stream
  const field = cursorField === undefined ? undefined : fields.get(cursorField)
  const sortName = sort?.replace(/^-/, '')
  if (sortName !== undefined && sortName !== field?.name)
    return cannotRead(
      'invalid_sort',
      field
        ? `${name} can be sorted by ${field.name} or -${field.name} only.`
        : `${name} cannot be sorted; leave sort out.`,
    )
  const direction = sort === undefined ? undefined : sort.startsWith('-') ? 'desc' : 'asc'
  if (order !== undefined && direction !== undefined && order !== direction)
    return cannotRead('invalid_sort', 'sort and order disagree; leave order out.')
  const descending = (direction ?? order ?? 'desc') === 'desc'
  return { sort: field, descending }
}

/** Binds a cursor to the grant, the source and the query. */
const toBinding = (
  { fingerprint }: Reader,
  { source }: Scope,
  { filter = {} }: RecordsQuery,
  { sort, descending }: Order,
): CursorBinding => ({
  kind: 'page',
  grant: fingerprint,
  query: { filter: filter as Json, sort: sort?.name ?? null, descending, source: source.n },
})

function toPosition(reader: Reader, binding: CursorBinding, cursor: string): Position | undefined {
  const [value, key] = openCursor(reader.store.key, binding, cursor) ?? []
  const isValue = value === null || typeof value === 'string' || typeof value === 'number'
  return isValue && typeof key === 'string' ? { value, key } : undefined
}
