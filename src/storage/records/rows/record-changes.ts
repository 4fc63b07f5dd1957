import type { Scope } from '../../../sources/records/grants/scope.ts'
import type {
  ChangesQuery,
  ChangesSlice,
  RecordChange,
  Row,
} from '../../../sources/records/record-store.ts'
import { type All, id, join, type Sql, sql } from '../../sqlite/sql.ts'
import type { ReadBounds } from '../read-bounds.ts'
import { fillLong } from './long-bodies.ts'
import { bodyUpTo, type Packed, pack, unpack } from './packed-rows.ts'
import { and, areKeys, hasFewKeys, toGranted } from './record-sql.ts'

interface Placed {
  readonly seq: number
  readonly id: number
}

interface Gone {
  readonly seq: number
  readonly key: string
  readonly at: string
}

/** More fields than these share what one turn looks at. */
const fewFields = 8

/** Changes after the first number and up to the second. */
type Reach = readonly [from: number, to: number]

/**
 * What changed after a number, each record once and as it is now. A record stands where something of
 * it that is granted last changed, or where it came into the granted time: a change of anything else
 * moves nothing. `d` has what is gone, and where records were whose time has changed since.
 *
 * One turn looks at the next so many changes of each kind, and tells of the records that stand there.
 * All of it must be of one moment of the file.
 */
export function readChanges(
  all: All,
  scope: Scope,
  query: ChangesQuery,
  bounds: ReadBounds,
): ChangesSlice {
  const { after, upTo, newestFirst, limit } = query
  const stop = hasFewKeys(scope, bounds) ? undefined : findStop(all, scope, query, bounds)
  const reach: Reach =
    stop === undefined ? [after, upTo] : newestFirst ? [stop - 1, upTo] : [after, stop]
  const order = newestFirst ? sql`desc` : sql`asc`
  const cut = sql`order by 1 ${order} limit ${limit}`
  const placed = all<Placed>(sql`${selectPlaced(scope, reach, bounds)} ${cut}`)
  const gone = all<Gone>(sql`${selectGone(scope, reach, bounds)} ${cut}`)
  const sign = newestFirst ? -1 : 1
  const standing = [...placed, ...gone].sort((a, b) => sign * (a.seq - b.seq)).slice(0, limit)
  const { changes, done } = toChanges(all, scope, standing, bounds)
  const toResume = (last: number) => (newestFirst ? last - 1 : last)
  if (done < standing.length) return { changes, resume: toResume(standing[done - 1]?.seq ?? after) }
  if (standing.length === limit || stop === undefined) return { changes }
  return { changes, resume: toResume(stop) }
}

/** Where the next so many changes end; `undefined` where there are not so many. */
function findStop(
  all: All,
  { source, fields }: Scope,
  { after, upTo, newestFirst }: ChangesQuery,
  { changed }: ReadBounds,
): number | undefined {
  const [r, h, d] = [id('r', source.n), id('h', source.n), id('d', source.n)]
  const last = (most: number) =>
    sql`seq > ${after} and seq <= ${upTo} order by seq ${newestFirst ? sql`desc` : sql`asc`} limit 1 offset ${most - 1}`
  const ofEach = Math.ceil(changed * Math.min(1, fewFields / Math.max(1, fields.size)))
  const [found] = all<{ stop: number | null }>(
    sql`select ${newestFirst ? sql`max(seq)` : sql`min(seq)`} as stop from (select (select seq from ${r} where ${last(changed)}) as seq union all select (select seq from ${d} where ${last(changed)}) union all select (select seq from ${h} where field = one.value and ${last(ofEach)}) from json_each(${toNumbers(fields)}) as one)`,
  )
  return found?.stop ?? undefined
}

/** Records that can be seen and stand within reach. */
function selectPlaced(scope: Scope, [from, to]: Reach, bounds: ReadBounds): Sql {
  const { source, window } = scope
  const [r, h, d] = [id('r', source.n), id('h', source.n), id('d', source.n)]
  const granted = sql`(select value from json_each(${toNumbers(scope.fields)}))`
  // The time itself may be withheld; that it came into the range may not.
  const wasOutside = window ? sql`not ${inside(sql`${d}.time`, window)}` : sql`0`
  const within = (table: Sql) => sql`${table}.seq > ${from} and ${table}.seq <= ${to}`
  const entries = window
    ? sql`union select moved.id from ${d} join ${r} as moved on moved.key = ${d}.key where ${within(d)} and ${wasOutside}`
    : sql``
  const which = hasFewKeys(scope, bounds)
    ? sql`1`
    : sql`${r}.id in (select id from ${r} where ${within(r)} union select id from ${h} where field in ${granted} and ${within(h)} ${entries})`
  // With a sign before it, it is not looked up: most records have no change at all.
  const changed = sql`(select max(seq) from ${h} where ${h}.id = ${r}.id and +field in ${granted})`
  const entered = window
    ? sql`(select seq from ${d} where ${d}.key = ${r}.key and ${d}.seq > ${r}.seq and ${wasOutside} order by seq desc limit 1)`
    : sql`null`
  return sql`with placed as materialized (select coalesce(nullif(max(coalesce(${changed}, 0), coalesce(${entered}, 0)), 0), ${r}.seq) as seq, ${r}.id as id from ${r} where ${which} and ${and(toGranted(scope))}) select seq, id from placed where ${within(sql`placed`)}`
}

/** What cannot be seen any more, and last left within reach. */
function selectGone(scope: Scope, [from, to]: Reach, bounds: ReadBounds): Sql {
  const { source, window, keys } = scope
  const [r, d] = [id('r', source.n), id('d', source.n)]
  const wasInside = (table: Sql) => (window ? inside(sql`${table}.time`, window) : sql`1`)
  // With a sign before it, it is no reason to walk along all that left.
  const seq = hasFewKeys(scope, bounds) ? sql`+${d}.seq` : sql`${d}.seq`
  return sql`select ${d}.seq, ${d}.key, ${d}.at from ${d} where ${seq} > ${from} and ${seq} <= ${to} and ${keys ? areKeys(sql`${d}.key`, keys) : sql`1`} and ${wasInside(d)} and not exists (select 1 from ${r} where ${r}.key = ${d}.key and ${and(toGranted(scope))}) and not exists (select 1 from ${d} as later where later.key = ${d}.key and later.seq > ${d}.seq and ${wasInside(sql`later`)})`
}

/** With their bodies, as many as fit into one turn. */
function toChanges(
  all: All,
  scope: Scope,
  standing: readonly (Placed | Gone)[],
  { body, bodies }: ReadBounds,
): { readonly changes: readonly RecordChange[]; readonly done: number } {
  const wanted = standing.flatMap((one) => ('id' in one ? [one.id] : []))
  const [packed] = all<Packed>(
    pack(
      sql`select id, key, at, ${bodyUpTo(body)} as body, null as sorted from ${id('r', scope.source.n)} where id in (select value from json_each(${JSON.stringify(wanted)}))`,
    ),
  )
  const found = new Map(unpack(packed).map((row) => [row.arrival, row]))
  const inOrder = wanted.flatMap((one) => found.get(one) ?? [])
  const { rows, done } = fillLong<Row>(all, scope, inOrder, bodies)
  const byId = new Map(rows.map((row) => [row.arrival, row]))
  const next = inOrder[done]?.arrival
  const end = standing.findIndex((one) => 'id' in one && one.id === next)
  const changes = standing
    .slice(0, end < 0 ? standing.length : end)
    .flatMap((one): RecordChange[] => {
      if (!('id' in one)) return [toRemoval(one)]
      const row = byId.get(one.id)
      return row ? [{ seq: one.seq, row }] : []
    })
  return { changes, done: end < 0 ? standing.length : end }
}

const toNumbers = (fields: Scope['fields']): string =>
  JSON.stringify([...fields.values()].map(({ n }) => n))

function inside(value: Sql, { field, from, to }: NonNullable<Scope['window']>): Sql {
  if (field.n === 0 || !(from < to)) return sql`0`
  const bounds = [
    sql`${value} is not null`,
    ...(from === -Infinity ? [] : [sql`${value} >= ${from}`]),
    ...(to === Infinity ? [] : [sql`${value} < ${to}`]),
  ]
  return sql`(${join(bounds, ' and ')})`
}

const toRemoval = ({ seq, key, at }: Gone): RecordChange => ({ seq, removed: { key, at } })
