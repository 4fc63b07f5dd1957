import type { Scope } from '../../../sources/records/model/scope.ts'
import type {
  ChangesQuery,
  ChangesSlice,
  RecordChange,
} from '../../../sources/records/record-store.ts'
import { type All, join, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { departureTable, fieldChangeTable, recordTable } from '../table-names.ts'
import { fillLongBodies } from './long-bodies.ts'
import { bodyOrLength, readRows } from './packed-rows.ts'
import { and, areKeys, hasFewKeys, toGranted } from './record-sql.ts'

/** A visible record, at the number of its last visible change. */
interface VisiblePosition {
  readonly seq: number
  readonly id: number
}

/** A record that was visible once and is not any more. */
interface RemovedPosition {
  readonly seq: number
  readonly key: string
  readonly at: string
}

/** Up to so many granted fields each get the whole bound of a slice; more of them share it. */
const unsharedFields = 8

/** Change numbers after the first and up to the second. */
type SeqRange = readonly [from: number, to: number]

/**
 * Records that changed after a number, each once and in its present state. The position of a record is the
 * number of the last change of a granted field, or of its entry into the granted time range: changes of
 * other fields do not move it. The departure table has deleted records and the former times of changed ones.
 *
 * One slice covers a bounded number of changes of each kind. The caller must run it in one read transaction.
 */
export function readChangesSlice(
  all: All,
  scope: Scope,
  query: ChangesQuery,
  bounds: ReadBounds,
): ChangesSlice {
  const { after, upTo, newestFirst, limit } = query
  const stop = hasFewKeys(scope, bounds) ? undefined : findStop(all, scope, query, bounds)
  const range: SeqRange =
    stop === undefined ? [after, upTo] : newestFirst ? [stop - 1, upTo] : [after, stop]
  const order = newestFirst ? sql`desc` : sql`asc`
  const page = sql`order by 1 ${order} limit ${limit}`
  const visiblePositions = all<VisiblePosition>(sql`${selectVisible(scope, range, bounds)} ${page}`)
  const removedPositions = all<RemovedPosition>(sql`${selectRemoved(scope, range, bounds)} ${page}`)
  const sign = newestFirst ? -1 : 1
  const positions = [...visiblePositions, ...removedPositions]
    .sort((a, b) => sign * (a.seq - b.seq))
    .slice(0, limit)
  const { changes, end } = toChanges(all, scope, positions, bounds)
  const toResume = (last: number) => (newestFirst ? last - 1 : last)
  if (end < positions.length) return { changes, resume: toResume(positions[end - 1]?.seq ?? after) }
  if (positions.length === limit || stop === undefined) return { changes }
  return { changes, resume: toResume(stop) }
}

/** The number of the last change of this slice; `undefined` when the slice reaches the end. */
function findStop(
  all: All,
  { source, fields }: Scope,
  { after, upTo, newestFirst }: ChangesQuery,
  { maxChanges }: ReadBounds,
): number | undefined {
  const { records, fieldChanges, departures } = tablesOf(source.n)
  const order = newestFirst ? sql`desc` : sql`asc`
  const lastOf = (count: number) => sql`
    seq > ${after} and seq <= ${upTo} order by seq ${order} limit 1 offset ${count - 1}`
  const perField = Math.ceil(maxChanges * Math.min(1, unsharedFields / Math.max(1, fields.size)))
  const [row] = all<{ stop: number | null }>(sql`
    select ${newestFirst ? sql`max(seq)` : sql`min(seq)`} as stop
    from (
      select (select seq from ${records} where ${lastOf(maxChanges)}) as seq
      union all
      select (select seq from ${departures} where ${lastOf(maxChanges)})
      union all
      select (
        select seq from ${fieldChanges} where field = granted.value and ${lastOf(perField)}
      ) from json_each(${toNumbers(fields)}) as granted
    )`)
  return row?.stop ?? undefined
}

/** Visible records whose position is in the range. */
function selectVisible(scope: Scope, [from, to]: SeqRange, bounds: ReadBounds): Sql {
  const { source, window } = scope
  const { records, fieldChanges, departures } = tablesOf(source.n)
  const grantedFields = sql`(select value from json_each(${toNumbers(scope.fields)}))`
  // The time itself may not be granted; that the record came into the granted range is shown all the same.
  const wasOutside = window ? sql`not ${inside(sql`${departures}.time`, window)}` : sql`0`
  const inRange = (table: Sql) => sql`${table}.seq > ${from} and ${table}.seq <= ${to}`
  const entries = window
    ? sql`
      union
      select moved.id from ${departures} join ${records} as moved on moved.key = ${departures}.key
      where ${inRange(departures)} and ${wasOutside}`
    : sql``
  const isCandidate = hasFewKeys(scope, bounds)
    ? sql`1`
    : sql`${records}.id in (
      select id from ${records} where ${inRange(records)}
      union
      select id from ${fieldChanges} where field in ${grantedFields} and ${inRange(fieldChanges)}
      ${entries})`
  // Unary + keeps the planner from probing (id, field) once per granted field: most records never changed.
  const lastFieldChange = sql`(
    select max(seq) from ${fieldChanges}
    where ${fieldChanges}.id = ${records}.id and +field in ${grantedFields})`
  const lastEntry = window
    ? sql`(
      select seq from ${departures}
      where ${departures}.key = ${records}.key and ${departures}.seq > ${records}.seq
        and ${wasOutside}
      order by seq desc limit 1)`
    : sql`null`
  return sql`
    with positions as materialized (
      select
        coalesce(
          nullif(max(coalesce(${lastFieldChange}, 0), coalesce(${lastEntry}, 0)), 0),
          ${records}.seq
        ) as seq,
        ${records}.id as id
      from ${records} where ${isCandidate} and ${and(toGranted(scope))}
    )
    select seq, id from positions where ${inRange(sql`positions`)}`
}

/** Records that are not visible any more, and whose last departure is in the range. */
function selectRemoved(scope: Scope, [from, to]: SeqRange, bounds: ReadBounds): Sql {
  const { source, window, keys } = scope
  const { records, departures } = tablesOf(source.n)
  const wasInside = (table: Sql) => (window ? inside(sql`${table}.time`, window) : sql`1`)
  // Unary + keeps SQLite's planner from scanning the departures by number: it should look up the keys.
  const seq = hasFewKeys(scope, bounds) ? sql`+${departures}.seq` : sql`${departures}.seq`
  return sql`
    select ${departures}.seq, ${departures}.key, ${departures}.at
    from ${departures}
    where ${seq} > ${from} and ${seq} <= ${to}
      and ${keys ? areKeys(sql`${departures}.key`, keys) : sql`1`}
      and ${wasInside(departures)}
      and not exists (
        select 1 from ${records}
        where ${records}.key = ${departures}.key and ${and(toGranted(scope))})
      and not exists (
        select 1 from ${departures} as later
        where later.key = ${departures}.key and later.seq > ${departures}.seq
          and ${wasInside(sql`later`)})`
}

/** Adds the bodies, as many as fit into one slice; `end` is the number of positions handled. */
function toChanges(
  all: All,
  scope: Scope,
  positions: readonly (VisiblePosition | RemovedPosition)[],
  { maxInlineBodyBytes, maxLongBodyBytes }: ReadBounds,
): { readonly changes: readonly RecordChange[]; readonly end: number } {
  const ids = positions.flatMap((position) => ('id' in position ? [position.id] : []))
  const present = sql`
    select id, key, at, ${bodyOrLength(maxInlineBodyBytes)} as body, null as sorted
    from ${recordTable(scope.source.n)}
    where id in (select value from json_each(${JSON.stringify(ids)}))`
  const longRows = new Map(readRows(all, present).map((row) => [row.arrival, row]))
  const inOrder = ids.flatMap((id) => longRows.get(id) ?? [])
  const { rows, inputCount } = fillLongBodies(all, scope, inOrder, maxLongBodyBytes)
  const byId = new Map(rows.map((row) => [row.arrival, row]))
  const next = inOrder[inputCount]?.arrival
  const nextIndex = positions.findIndex((position) => 'id' in position && position.id === next)
  const end = nextIndex < 0 ? positions.length : nextIndex
  const changes = positions.slice(0, end).flatMap((position): RecordChange[] => {
    if (!('id' in position)) return [toRemoval(position)]
    const row = byId.get(position.id)
    return row ? [{ seq: position.seq, row }] : []
  })
  return { changes, end }
}

const tablesOf = (source: number) => ({
  records: recordTable(source),
  fieldChanges: fieldChangeTable(source),
  departures: departureTable(source),
})

const toNumbers = (fields: Scope['fields']): string =>
  JSON.stringify([...fields.values()].map(({ n }) => n))

function inside(value: Sql, { field, from, to }: NonNullable<Scope['window']>): Sql {
  if (field.n === 0 || !(from < to)) return sql`0`
  const limits = [
    sql`${value} is not null`,
    ...(from === -Infinity ? [] : [sql`${value} >= ${from}`]),
    ...(to === Infinity ? [] : [sql`${value} < ${to}`]),
  ]
  return sql`(${join(limits, ' and ')})`
}

const toRemoval = ({ seq, key, at }: RemovedPosition): RecordChange => ({
  seq,
  removed: { key, at },
})
