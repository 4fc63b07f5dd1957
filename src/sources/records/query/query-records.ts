import type { Json, JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { countRecords } from '../aggregate/aggregate-records.ts'
import { cannotRead } from '../failures.ts'
import { type RecordProjection, toData, toFields } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'
import type { Field } from '../model/stream.ts'
import { type CursorBinding, openCursor, sealCursor } from '../reading/cursor.ts'
import { toConditions } from '../reading/filter.ts'
import { findScope, type Wanted } from '../reading/find-scope.ts'
import { type Reader, yieldAndCheck } from '../reading/reader.ts'
import type {
  ChangesQuery,
  PlacedRow,
  Position,
  RecordChange,
  Row,
  SliceQuery,
} from '../record-store.ts'
import { expandPage, toClampedExpansions, toExpansions } from './expand.ts'

export interface RecordsQuery extends Wanted, RecordProjection {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly sort?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly count?: 'none' | 'estimated' | 'exact' | undefined
  readonly filter?: unknown
  readonly expand?: readonly string[] | undefined
  readonly expandLimit?: Readonly<Record<string, number>> | undefined
  readonly changesSince?: string | undefined
}

/** A record as it is given out: who it is outside, what it says inside `data`. */
export interface ServedRecord extends JsonObject {
  readonly object: 'record'
  readonly id: string
  readonly stream: string
  readonly connection_id: string
  readonly emitted_at: string
  readonly data?: JsonObject
}

export interface RecordPage {
  readonly scope: Scope
  readonly fields: readonly Field[]
  readonly records: readonly ServedRecord[]
  readonly hasMore: boolean
  readonly nextCursor?: string
  readonly nextChangesSince?: string
  readonly count?: number
  readonly warnings: readonly Warning[]
}

export interface Warning extends JsonObject {
  readonly code: string
  readonly message: string
  readonly param?: string
  readonly detail?: JsonObject
}

export const defaultLimit = 25
export const maxRecords = 100

/** One page of the records of one source. */
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
  const binding = toBinding(reader, scope, 'page', {
    filter: (query.filter ?? {}) as Json,
    sort: order.sort?.name ?? null,
    descending: order.descending,
  })
  const after = query.cursor === undefined ? undefined : toPosition(reader, binding, query.cursor)
  if (query.cursor !== undefined && !after) return invalidCursor()
  const limit = Math.min(query.limit ?? defaultLimit, maxRecords)
  const wanted = { ...order, conditions, ...(after && { after }) }
  const page = await walk(reader, scope, wanted, limit)
  if ('kind' in page) return page
  const { rows, end } = page
  const count =
    query.count === 'exact' || query.count === 'estimated'
      ? await countRecords(reader, scope, conditions)
      : undefined
  if (typeof count === 'object') return count
  const plain = rows.map((row) => toRecord(scope, fields, row))
  const records = await expandPage(reader, scope, rows, plain, expansions)
  if ('kind' in records) return records
  const nextCursor = end && sealCursor(reader.store.key, binding, [end.value, end.key])
  return {
    scope,
    fields,
    records,
    hasMore: end !== undefined,
    ...(nextCursor !== undefined && { nextCursor }),
    ...(count !== undefined && { count }),
    warnings: toClampedExpansions(expansions, query),
  }
}

interface Walked {
  readonly rows: readonly Row[]
  /** Where the next page begins, if there is one. */
  readonly end?: Position | undefined
}

/** Slice by slice, until there is one record more than asked for, or no more. */
async function walk(
  reader: Reader,
  scope: Scope,
  query: Omit<SliceQuery, 'limit'>,
  limit: number,
): Promise<Walked | Failed> {
  const rows: PlacedRow[] = []
  let after = query.after
  // A page that nothing is left out of is here at once; any other waits for its turn.
  const first = query.conditions.length > 0 ? await yieldAndCheck(reader) : undefined
  if (first) return first
  for (;;) {
    const slice = reader.store.slice(scope, {
      ...query,
      ...(after && { after }),
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

function toOrder(
  { source, fields }: Scope,
  { sort, order }: RecordsQuery,
): { readonly sort?: Field; readonly descending: boolean } | Failed {
  const { cursorField, name } = source.stream
  const field = cursorField === undefined ? undefined : fields.get(cursorField)
  const asked = sort?.replace(/^-/, '')
  if (asked !== undefined && asked !== field?.name)
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
  return { ...(field && { sort: field }), descending }
}

/** The key of a source and what is asked of it: a cursor is good for nothing else. */
const toBinding = (
  { fingerprint }: Reader,
  { source }: Scope,
  kind: CursorBinding['kind'],
  query: JsonObject,
): CursorBinding => ({ kind, grant: fingerprint, query: { ...query, source: source.n } })

function toPosition(reader: Reader, binding: CursorBinding, cursor: string): Position | undefined {
  const place = openCursor(reader.store.key, binding, cursor)
  const [value, key] = place ?? []
  const isValue = value === null || typeof value === 'string' || typeof value === 'number'
  return isValue && typeof key === 'string' ? { value, key } : undefined
}

export const invalidCursor = (): Failed =>
  cannotRead(
    'invalid_cursor',
    'The cursor is not valid for this read. Repeat the read it came from without changes, or begin again without a cursor.',
  )

const expired = (): Failed =>
  cannotRead(
    'cursor_expired',
    'The store was put back to an earlier state. Begin again with changes_since "beginning".',
  )

const invalidBookmark = (): Failed =>
  cannotRead(
    'invalid_cursor',
    'changes_since must be "beginning", or the next_changes_since of an earlier read of this stream and connection under this grant. Begin with "beginning".',
  )

export const toRecord = (
  { source }: Scope,
  fields: readonly Field[],
  { key, emittedAt, body }: Row,
): ServedRecord => ({
  object: 'record',
  id: key,
  stream: source.stream.name,
  connection_id: source.connection.id,
  ...(source.connection.label !== undefined && { display_name: source.connection.label }),
  emitted_at: emittedAt,
  data: toData(body, fields) as JsonObject,
})

/** What changed since a bookmark: each record once, as it is now, and those that are gone. */
async function readChanges(
  reader: Reader,
  scope: Scope,
  fields: readonly Field[],
  query: RecordsQuery,
): Promise<RecordPage | Failed> {
  const { changesSince = '', cursor } = query
  for (const name of ['filter', 'sort', 'order', 'expand', 'count'] as const)
    if (query[name] !== undefined && query[name] !== 'none')
      return cannotRead('invalid_argument', `${name} cannot be used together with changes_since.`)
  const place = findPlace(reader, scope, changesSince, cursor)
  if (!place) return cursor === undefined ? invalidBookmark() : invalidCursor()
  if (!isOfThisStore(reader, place)) return expired()
  const { after, upTo } = place
  const head = reader.store.head()
  // The store is younger than the bookmark: what was between them nobody knows.
  if (after > head) return expired()
  const limit = Math.min(query.limit ?? defaultLimit, maxRecords)
  // What changes while this is read is behind the head, and would be met a second time.
  const asked = { after, upTo: upTo ?? head, newestFirst: false }
  const changes = await collectChanges(reader, scope, { ...asked, limit: limit + 1 })
  if ('kind' in changes) return changes
  const page = changes.slice(0, limit)
  const last = page.at(-1)?.seq ?? after
  const hasMore = changes.length > limit
  const end = hasMore && upTo === undefined ? await findEnd(reader, scope, [last, head]) : upTo
  if (typeof end === 'object') return end
  return {
    scope,
    fields,
    records: page.map((change) =>
      'row' in change ? toRecord(scope, fields, change.row) : toTombstone(scope, change.removed),
    ),
    hasMore,
    ...(hasMore
      ? { nextCursor: sealPage(reader, scope, changesSince, [last, end ?? last]) }
      : { nextChangesSince: sealBookmark(reader, scope, last) }),
    warnings: [],
  }
}

interface ChangesPlace {
  readonly after: number
  /** Where it ends, whatever changes meanwhile. */
  readonly upTo?: number
  /** Of the batch that it was written in, where the cursor says so. */
  readonly mark?: unknown
}

/** A store that was put back, and written to since, has other changes under the same numbers. */
const isOfThisStore = ({ store }: Reader, { after, mark }: ChangesPlace): boolean =>
  after === 0 || typeof mark !== 'number' || store.lineage(after) === mark

function findPlace(
  reader: Reader,
  scope: Scope,
  changesSince: string,
  cursor: string | undefined,
): ChangesPlace | undefined {
  const { key } = reader.store
  if (cursor !== undefined) {
    const [after, upTo, mark] = openCursor(key, toPageBinding(scope, changesSince), cursor) ?? []
    return typeof after === 'number' && typeof upTo === 'number' ? { after, upTo, mark } : undefined
  }
  if (changesSince === 'beginning') return { after: 0 }
  const [after, mark] = openCursor(key, toBookmarkBinding(scope), changesSince) ?? []
  return typeof after === 'number' ? { after, mark } : undefined
}

/** The last change that can be seen: a later one, that cannot, must not show in a cursor. */
async function findEnd(
  reader: Reader,
  scope: Scope,
  [after, upTo]: readonly [number, number],
): Promise<number | Failed> {
  const query = { after, upTo, newestFirst: true, limit: 1 }
  const newest = await collectChanges(reader, scope, query)
  return 'kind' in newest ? newest : (newest[0]?.seq ?? after)
}

/** Slice by slice, until there are as many as asked for, or no more. */
async function collectChanges(
  reader: Reader,
  scope: Scope,
  query: ChangesQuery,
): Promise<readonly RecordChange[] | Failed> {
  const changes: RecordChange[] = []
  for (let { after, upTo } = query; ; ) {
    const limit = query.limit - changes.length
    const slice = reader.store.changes(scope, { ...query, after, upTo, limit })
    changes.push(...slice.changes)
    if (slice.resume === undefined || changes.length >= query.limit) return changes
    if (query.newestFirst) upTo = slice.resume
    else after = slice.resume
    const stop = await yieldAndCheck(reader)
    if (stop) return stop
  }
}

/**
 * Good for as long as the grant of this source: others of the same package may come and go. When its
 * time range is about another field, nobody knows any more in what time those were that are gone.
 */
const toBookmarkBinding = (scope: Scope): CursorBinding => ({
  kind: 'bookmark',
  grant: scope.grant,
  query: toFollowed(scope),
})

const toPageBinding = (scope: Scope, since: string): CursorBinding => ({
  kind: 'changes',
  grant: scope.grant,
  query: { ...toFollowed(scope), since },
})

const toFollowed = ({ source, window }: Scope): JsonObject => ({
  source: source.n,
  ...(window && { time: window.field.n }),
})

const sealBookmark = ({ store }: Reader, scope: Scope, after: number): string =>
  sealCursor(store.key, toBookmarkBinding(scope), [after, findMark(store, after)])

const sealPage = (
  { store }: Reader,
  scope: Scope,
  since: string,
  [after, upTo]: readonly [number, number],
): string =>
  sealCursor(store.key, toPageBinding(scope, since), [after, upTo, findMark(store, after)])

/** Before everything there is none, or who has seen nothing would see that something else was written. */
const findMark = (store: Reader['store'], after: number): number | null =>
  after === 0 ? null : (store.lineage(after) ?? null)

const toTombstone = (
  { source }: Scope,
  { key, at }: { readonly key: string; readonly at: string },
): ServedRecord => ({
  object: 'record',
  id: key,
  stream: source.stream.name,
  connection_id: source.connection.id,
  emitted_at: at,
  deleted: true,
  deleted_at: at,
})
