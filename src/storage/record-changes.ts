import type { Change, Row } from '../sources/records/record-store.ts'
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
 * What changed after a number, oldest first, each record once and as it is now. A record stands where
 * something of it that is granted last changed: a change of anything else moves nothing.
 */
export function readChanges(
  all: All,
  scope: Scope,
  after: number,
  limit: number,
): readonly Change[] {
  const { source, window } = scope
  const [r, h, d] = [id('r', source.n), id('h', source.n), id('d', source.n)]
  const granted = JSON.stringify([...scope.fields.values()].map(({ n }) => n))
  const now = window ? inside(sql`${r}.${id('f', window.field.n)}`, window) : sql`1`
  const before = window ? inside(sql`was`, window) : sql`1`
  // The time itself may be withheld; that it came into the range, or left it, may not.
  const crosses = window ? sql`(field = ${window.field.n} and ${before} <> ${now})` : sql`0`
  const seen = sql`(field in (select value from json_each(${granted})) or ${crosses})`
  const keys = scope.keys
    ? sql`key in (select value from json_each(${JSON.stringify(scope.keys)}))`
    : sql`1`
  const row = sql`${r}.id, ${r}.key, ${r}.at, ${r}.body`
  const visible = toGranted(scope)
  const where = visible.length === 0 ? sql`1` : join(visible, ' and ')

  const born = all<Found>(
    sql`select ${r}.seq, ${row} from ${r} where ${r}.seq > ${after} and ${where} and not exists (select 1 from ${h} where ${h}.id = ${r}.id and ${seen}) order by ${r}.seq limit ${limit}`,
  )
  const changed = all<Found & { readonly fits: number }>(
    sql`select max(${h}.seq) as seq, ${row}, ${now} as fits, max(case when ${crosses} then 1 else 0 end) as crossed from ${h} join ${r} on ${r}.id = ${h}.id where ${h}.id in (select id from ${h} where seq > ${after}) and ${seen} and ${keys} group by ${h}.id having max(${h}.seq) > ${after} and (fits or crossed) order by 1 limit ${limit}`,
  )
  const gone = all<Gone>(
    sql`select seq, key, at from ${d} where seq > ${after} and ${keys} and ${window ? inside(sql`time`, window) : sql`1`} and not exists (select 1 from ${r} where ${r}.key = ${d}.key) order by seq limit ${limit}`,
  )
  const changes: Change[] = [
    ...born.map(toChange),
    ...changed.map((one) => (one.fits ? toChange(one) : toRemoval(one))),
    ...gone.map(toRemoval),
  ]
  return changes.sort((a, b) => a.seq - b.seq).slice(0, limit)
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
