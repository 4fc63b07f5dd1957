import type { Change, ChangesQuery, Row } from '../sources/records/record-store.ts'
import type { Scope } from '../sources/records/scope.ts'
import { toGranted } from './record-sql.ts'
import { id, join, type Sql, sql } from './sql.ts'

type All = <Found>(query: Sql) => Found[]

interface Found {
  readonly seq: number
  readonly id: number
  readonly key: string
  readonly at: string
  readonly body: string
}

interface Gone {
  readonly seq: number
  readonly key: string
  readonly at: string
}

/**
 * What changed after a number, each record once and as it is now. A record stands where something of
 * it that is granted last changed, or where it came into the granted time: a change of anything else
 * moves nothing. `d` has what is gone, and where records were whose time has changed since.
 */
export function readChanges(all: All, scope: Scope, query: ChangesQuery): readonly Change[] {
  const { after, upTo, newestFirst, limit } = query
  const { source, window } = scope
  const [r, h, d] = [id('r', source.n), id('h', source.n), id('d', source.n)]
  const fields = JSON.stringify([...scope.fields.values()].map(({ n }) => n))
  const seen = sql`field in (select value from json_each(${fields}))`
  const visible = toGranted(scope)
  const where = visible.length === 0 ? sql`1` : join(visible, ' and ')
  const keys = scope.keys
    ? sql`${d}.key in (select value from json_each(${JSON.stringify(scope.keys)}))`
    : sql`1`
  const row = sql`${r}.id, ${r}.key, ${r}.at, ${r}.body`
  const cut = sql`order by 1 ${newestFirst ? sql`desc` : sql`asc`} limit ${limit}`
  // The time itself may be withheld; that it came into the range may not.
  const wasOutside = window ? sql`not ${inside(sql`${d}.time`, window)}` : sql`0`
  const entries = sql`from ${d} join ${r} on ${r}.key = ${d}.key where ${d}.seq > ${r}.seq and ${wasOutside}`

  const born = all<Found>(
    sql`select ${r}.seq, ${row} from ${r} where ${r}.seq > ${after} and ${r}.seq <= ${upTo} and ${where} and not exists (select 1 from ${h} where ${h}.id = ${r}.id and ${seen}) and not exists (select 1 from ${d} where ${d}.key = ${r}.key and ${d}.seq > ${r}.seq and ${wasOutside}) ${cut}`,
  )
  const touched = sql`select id from ${h} where seq > ${after} union select ${r}.id ${entries} and ${d}.seq > ${after}`
  const moves = sql`select id, seq from ${h} where id in (${touched}) and ${seen} union all select ${r}.id, ${d}.seq ${entries} and ${r}.id in (${touched})`
  const changed = all<Found>(
    sql`select max(m.seq) as seq, ${row} from (${moves}) as m join ${r} on ${r}.id = m.id where ${where} group by m.id having max(m.seq) > ${after} and max(m.seq) <= ${upTo} ${cut}`,
  )
  const gone = all<Gone>(
    sql`select max(seq) as seq, key, at from ${d} where seq > ${after} and ${keys} and ${window ? inside(sql`time`, window) : sql`1`} and not exists (select 1 from ${r} where ${r}.key = ${d}.key and ${where}) group by key having max(seq) <= ${upTo} ${cut}`,
  )
  const changes = [...born.map(toChange), ...changed.map(toChange), ...gone.map(toRemoval)]
  const sign = newestFirst ? -1 : 1
  return changes.sort((a, b) => sign * (a.seq - b.seq)).slice(0, limit)
}

function inside(value: Sql, { field, from, to }: NonNullable<Scope['window']>): Sql {
  if (field.n === 0 || !(from < to)) return sql`0`
  const bounds = [
    sql`${value} is not null`,
    ...(from === -Infinity ? [] : [sql`${value} >= ${from}`]),
    ...(to === Infinity ? [] : [sql`${value} < ${to}`]),
  ]
  return sql`(${join(bounds, ' and ')})`
}

const toChange = ({ seq, id: arrival, key, at, body }: Found): Change => ({
  seq,
  row: { arrival, key, emittedAt: at, body } satisfies Row,
})

const toRemoval = ({ seq, key, at }: Gone): Change => ({ seq, removed: { key, at } })
