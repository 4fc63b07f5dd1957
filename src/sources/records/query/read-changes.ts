import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import { type CursorBinding, openCursor, sealCursor } from '../reading/cursor.ts'
import { type Reader, yieldAndCheck } from '../reading/reader.ts'
import { toServedKey } from '../reading/record-key.ts'
import type { ChangesQuery, RecordChange } from '../record-store.ts'
import {
  invalidCursor,
  type RecordPage,
  type RecordsQuery,
  type ServedRecord,
  toPageSize,
  toRecord,
} from './record-page.ts'

/** Reads the changes since a bookmark: each record once, in its current state, and tombstones. */
export async function readChanges(
  reader: Reader,
  scope: Scope,
  fields: readonly Field[],
  query: RecordsQuery,
): Promise<RecordPage | Failed> {
  const { changesSince = '', cursor } = query
  for (const name of ['filter', 'sort', 'order', 'expand', 'count'] as const)
    if (query[name] !== undefined && query[name] !== 'none')
      return cannotRead('invalid_argument', `${name} cannot be used together with changes_since.`)
  const position = findPosition(reader, scope, changesSince, cursor)
  if (!position) return cursor === undefined ? invalidBookmark() : invalidCursor()
  if (!isSameHistory(reader, position)) return cursorExpired()
  const { after, upTo } = position
  const head = reader.store.head()
  // The bookmark is newer than the store: the store was restored from an older backup.
  if (after > head) return cursorExpired()
  const limit = toPageSize(query)
  // Bounded by the head at the start: a record that changes during the read would be returned twice.
  const range = { after, upTo: upTo ?? head, newestFirst: false }
  const changes = await collectChanges(reader, scope, { ...range, limit: limit + 1 })
  if (isFailed(changes)) return changes
  const page = changes.slice(0, limit)
  const last = page.at(-1)?.seq ?? after
  const hasMore = changes.length > limit
  const end = hasMore && upTo === undefined ? await findEnd(reader, scope, [last, head]) : upTo
  if (isFailed(end)) return end
  return {
    scope,
    fields,
    records: page.map((change) =>
      'row' in change ? toRecord(scope, fields, change.row) : toTombstone(scope, change.removed),
    ),
    keys: page.map((change) => ('row' in change ? change.row.key : change.removed.key)),
    hasMore,
    ...(hasMore
      ? { nextCursor: sealPage(reader, scope, changesSince, [last, end ?? last]) }
      : { nextChangesSince: sealBookmark(reader, scope, last) }),
    warnings: [],
  }
}

const cursorExpired = (): Failed =>
  cannotRead(
    'cursor_expired',
    'The store was restored to an earlier state. Start again with changes_since "beginning".',
  )

const invalidBookmark = (): Failed =>
  cannotRead(
    'invalid_cursor',
    'changes_since must be "beginning", or the next_changes_since of an earlier read of this stream and connection under this grant. Start with "beginning".',
  )

interface ChangesPosition {
  readonly after: number
  /** Upper bound fixed by the first page, so that later changes do not extend the read. */
  readonly upTo?: number
  /** Lineage mark of `after`, when the cursor contains one. */
  readonly mark?: unknown
}

/** A store restored from a backup and written to since has other changes under the same numbers. */
const isSameHistory = ({ store }: Reader, { after, mark }: ChangesPosition): boolean =>
  after === 0 || typeof mark !== 'number' || store.lineage(after) === mark

function findPosition(
  reader: Reader,
  scope: Scope,
  changesSince: string,
  cursor: string | undefined,
): ChangesPosition | undefined {
  const { key } = reader.store
  if (cursor !== undefined) {
    const [after, upTo, mark] = openCursor(key, toPageBinding(scope, changesSince), cursor) ?? []
    return typeof after === 'number' && typeof upTo === 'number' ? { after, upTo, mark } : undefined
  }
  if (changesSince === 'beginning') return { after: 0 }
  const [after, mark] = openCursor(key, toBookmarkBinding(scope), changesSince) ?? []
  return typeof after === 'number' ? { after, mark } : undefined
}

/** The last visible change: a cursor must not reveal later changes outside the grant. */
async function findEnd(
  reader: Reader,
  scope: Scope,
  [after, upTo]: readonly [number, number],
): Promise<number | Failed> {
  const query = { after, upTo, newestFirst: true, limit: 1 }
  const newest = await collectChanges(reader, scope, query)
  return isFailed(newest) ? newest : (newest[0]?.seq ?? after)
}

/** Reads slices until the limit or the end is reached. */
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
 * Bound to the grant of this source only: other grants of the package may change. Also bound to the
 * field of the time range: tombstones do not say whether they were inside a range on another field.
 */
const toBookmarkBinding = (scope: Scope): CursorBinding => ({
  kind: 'bookmark',
  grant: scope.grant,
  query: toSourceQuery(scope),
})

const toPageBinding = (scope: Scope, since: string): CursorBinding => ({
  kind: 'changes',
  grant: scope.grant,
  query: { ...toSourceQuery(scope), since },
})

/** Without a time range the key must be absent, not `undefined`: earlier bookmarks are bound to that. */
const toSourceQuery = ({ source, window }: Scope): JsonObject => ({
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

/** No mark at the beginning: it would reveal that records outside the grant exist. */
const findMark = (store: Reader['store'], after: number): number | null =>
  after === 0 ? null : (store.lineage(after) ?? null)

/** The change feed's entry for a deleted record. */
const toTombstone = (
  scope: Scope,
  { key, at }: { readonly key: string; readonly at: string },
): ServedRecord => ({
  object: 'record',
  id: toServedKey(scope, key),
  stream: scope.source.stream.name,
  connection_id: scope.source.connection.id,
  emitted_at: at,
  deleted: true,
  deleted_at: at,
})
