import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../grants/scope.ts'
import { compare } from '../model/compare.ts'
import type { AggregateUse, Comparable, Field } from '../model/stream.ts'
import { fromComparable } from '../model/to-comparable.ts'
import { toConditions, unknownField } from '../reading/filter.ts'
import { findScope, type Wanted } from '../reading/find-scope.ts'
import { type Reader, yieldAndCheck } from '../reading/reader.ts'
import type { Condition, Tally, TallyQuery } from '../record-store.ts'
import { ShardedMap } from './sharded-map.ts'
import { type Buckets, createBuckets, type Granularity, stepOf } from './time-buckets.ts'

export const metrics = ['count', 'sum', 'avg', 'min', 'max', 'count_distinct'] as const
export type Metric = (typeof metrics)[number]

export interface AggregateQuery extends Wanted {
  readonly metric: Metric
  readonly field?: string | undefined
  readonly groupBy?: string | undefined
  readonly groupByTime?: string | undefined
  readonly granularity?: Granularity | undefined
  readonly timeZone?: string | undefined
  readonly limit?: number | undefined
  readonly filter?: unknown
}

export interface Group {
  readonly key: Json
  readonly count: number
  readonly value: Json
}

export interface Aggregation {
  readonly scope: Scope
  readonly query: AggregateQuery
  readonly filteredRecordCount: number
  readonly value?: Json
  readonly groups?: readonly Group[]
  /** Records of the groups that are not shown. */
  readonly otherCount?: number
  readonly groupCount?: number
}

export const defaultGroups = 10

export async function aggregateRecords(
  reader: Reader,
  asked: AggregateQuery,
): Promise<Aggregation | Failed> {
  const scope = findScope(reader, asked)
  if (isFailed(scope)) return scope
  const conditions = toConditions(scope, asked.filter)
  if (isFailed(conditions)) return conditions
  const query = toZone(scope, asked)
  const plan = toPlan(scope, query)
  if (isFailed(plan)) return plan
  const { field, toKey } = plan
  if (plan.distinct) {
    const values = new ShardedMap<true>()
    const count = await gather(reader, scope, { conditions, ...plan }, ({ group }) => {
      if (group !== null && !values.get(group)) values.add(group, true)
    })
    if (typeof count === 'object') return count
    return { scope, query, filteredRecordCount: count, value: values.size }
  }
  const totals = new ShardedMap<Total>()
  const filteredRecordCount = await gather(reader, scope, { conditions, ...plan }, (tally) =>
    put(totals, tally),
  )
  if (typeof filteredRecordCount === 'object') return filteredRecordCount
  const base = { scope, query, filteredRecordCount }
  if (!plan.group)
    return { ...base, value: toValue(query.metric, totals.get(null) ?? nothing, field) }
  const { buckets } = plan.group
  const order = buckets ? byTime(buckets) : byCount(toKey)
  const shown = await pickFirst(reader, totals.values(), order, query.limit ?? defaultGroups)
  if ('kind' in shown) return shown
  return {
    ...base,
    groups: shown.map((tally) => ({
      key: toKey(tally.group),
      count: tally.count,
      value: toValue(query.metric, tally, field),
    })),
    groupCount: totals.size,
    otherCount: shown.reduce((left, { count }) => left - count, filteredRecordCount),
  }
}

/** A date is the same day everywhere: counted in another zone, it would be the day before. */
function toZone(scope: Scope, query: AggregateQuery): AggregateQuery {
  const by = scope.fields.get(query.groupByTime ?? '')
  const isKnown = query.timeZone !== undefined && createBuckets('day', query.timeZone) !== undefined
  return by?.type === 'date' && isKnown ? { ...query, timeZone: 'UTC' } : query
}

/** The first so many in an order, without putting all the others in order, too. */
async function pickFirst(
  reader: Reader,
  tallies: Iterable<Tally>,
  order: Order,
  limit: number,
): Promise<readonly Tally[] | Failed> {
  const first: Tally[] = []
  const stop = await inTurns(reader, tallies, (tally) => {
    const last = first.at(-1)
    if (first.length === limit && last && order(tally, last) >= 0) return
    const place = first.findIndex((one) => order(tally, one) < 0)
    first.splice(place < 0 ? first.length : place, 0, tally)
    if (first.length > limit) first.pop()
  })
  return stop ?? first
}

const turnLength = 5000

/** So many at a time, so that nobody waits long for anybody. */
async function inTurns<T>(
  reader: Reader,
  items: Iterable<T>,
  work: (item: T) => void,
): Promise<Failed | undefined> {
  let done = 0
  for (const item of items) {
    work(item)
    done += 1
    const stop = done % turnLength === 0 ? await yieldAndCheck(reader) : undefined
    if (stop) return stop
  }
  return undefined
}

export const countRecords = (
  reader: Reader,
  scope: Scope,
  conditions: readonly Condition[],
): Promise<number | Failed> => gather(reader, scope, { conditions, distinct: false }, () => {})

interface Plan {
  readonly field?: Field
  readonly group?: NonNullable<TallyQuery['group']>
  readonly distinct: boolean
  /** What a group is called. */
  readonly toKey: (group: Comparable | null) => Json
}

function toPlan(scope: Scope, query: AggregateQuery): Plan | Failed {
  const { metric, groupBy, groupByTime, granularity, timeZone = 'UTC' } = query
  if (groupBy !== undefined && groupByTime !== undefined)
    return cannotRead('invalid_argument', 'Give either group_by or group_by_time, not both.')
  if (metric === 'count' && query.field !== undefined)
    return cannotRead(
      'invalid_argument',
      'count takes no field; leave it out, or use count_distinct.',
    )
  if (metric !== 'count' && query.field === undefined)
    return cannotRead(
      'invalid_argument',
      `${metric} needs a field; schema with this stream says which can be used.`,
    )
  if (metric === 'count_distinct' && (groupBy !== undefined || groupByTime !== undefined))
    return cannotRead('invalid_argument', 'count_distinct cannot be grouped.')
  if ((groupByTime === undefined) !== (granularity === undefined))
    return cannotRead('invalid_argument', 'group_by_time and granularity go together.')
  const field = metric === 'count' ? undefined : usable(scope, query.field ?? '', metric)
  if (field && 'kind' in field) return field
  const base = { ...(field && { field }), distinct: metric === 'count_distinct' }
  if (metric === 'count_distinct') return { ...base, toKey: (group) => group }
  if (groupBy !== undefined) {
    const by = usable(scope, groupBy, 'group_by')
    if ('kind' in by) return by
    const toKey = (group: Comparable | null) => (group === null ? null : fromComparable(by, group))
    return { ...base, group: { field: by }, toKey }
  }
  if (groupByTime === undefined || granularity === undefined) return { ...base, toKey: () => null }
  const by = usable(scope, groupByTime, 'group_by_time')
  if ('kind' in by) return by
  const buckets = createBuckets(granularity, timeZone)
  if (!buckets)
    return cannotRead(
      'invalid_argument',
      `time_zone ${JSON.stringify(timeZone.slice(0, 100))} is not known. Use a name such as Europe/Rome.`,
    )
  return {
    ...base,
    group: { field: by, step: stepOf(granularity), buckets },
    toKey: (group) => (group === null ? null : buckets.nameAt(Number(group))),
  }
}

/** A use that the stream does not declare is told; a field that is not granted is not there. */
function usable(scope: Scope, name: string, use: AggregateUse): Field | Failed {
  const field = scope.fields.get(name)
  if (!field) return unknownField(scope, name)
  if (field.aggregates.includes(use)) return field
  const others = [...scope.fields.values()].filter(({ aggregates }) => aggregates.includes(use))
  return cannotRead(
    'invalid_argument',
    `${name} cannot be used for ${use}. ${others.length === 0 ? 'No field of this stream can.' : `These can: ${others.map((one) => one.name).join(', ')}.`}`,
  )
}

/** Slice by slice, so that nobody waits long for anybody; how many records were counted. */
async function gather(
  reader: Reader,
  scope: Scope,
  query: Omit<TallyQuery, 'after'>,
  take: (tally: Tally) => void,
): Promise<number | Failed> {
  let count = 0
  for (let after = 0; ; ) {
    const end = await yieldAndCheck(reader)
    if (end) return end
    const { tallies, resume } = reader.store.tally(scope, { ...query, after })
    const stop = await inTurns(reader, tallies, (tally) => {
      count += tally.count
      take(tally)
    })
    if (stop) return stop
    if (resume === undefined) return count
    after = resume
  }
}

const nothing: Tally = { group: null, count: 0, valued: 0, sum: 0, min: null, max: null }

/** What was counted of a group so far. */
type Total = { -readonly [Name in keyof Tally]: Tally[Name] }

function put(totals: ShardedMap<Total>, tally: Tally): void {
  const total = totals.get(tally.group)
  if (!total) {
    totals.add(tally.group, { ...tally })
    return
  }
  total.count += tally.count
  total.valued += tally.valued
  total.sum += tally.sum
  total.min = pick(total.min, tally.min, -1)
  total.max = pick(total.max, tally.max, 1)
}

function pick(a: Comparable | null, b: Comparable | null, sign: 1 | -1): Comparable | null {
  if (a === null || b === null) return a ?? b
  return Math.sign(compare(a, b)) === sign ? a : b
}

function toValue(metric: Metric, tally: Tally, field: Field | undefined): Json {
  switch (metric) {
    case 'count':
    case 'count_distinct':
      return tally.count
    case 'sum':
      return toExact(tally.sum)
    case 'avg':
      return tally.valued === 0 ? null : toExact(tally.sum / tally.valued)
    case 'min':
      return tally.min === null || !field ? null : fromComparable(field, tally.min)
    case 'max':
      return tally.max === null || !field ? null : fromComparable(field, tally.max)
  }
}

/** The last digit depends on the order of adding, which is nobody's business. */
const toExact = (sum: number): number =>
  Number.isSafeInteger(sum) ? sum : Number(sum.toPrecision(15))

type Order = (a: Tally, b: Tally) => number
/** Clocks were put back by a day at most: times further apart are in order by themselves. */
const farApart = 48 * 3_600_000
const byTime =
  ({ ordinalAt }: Buckets): Order =>
  (a, b) => {
    const [one, other] = [Number(a.group ?? -Infinity), Number(b.group ?? -Infinity)]
    const apart = one - other
    return Math.abs(apart) < farApart ? ordinalAt(one) - ordinalAt(other) : apart
  }
const byCount =
  (toKey: Plan['toKey']): Order =>
  (a, b) =>
    b.count - a.count || compare(toText(toKey(a.group)), toText(toKey(b.group)))
const toText = (key: Json): string => (key === null ? '' : String(key))
