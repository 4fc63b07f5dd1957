import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { compare } from '../model/compare.ts'
import type { Scope } from '../model/scope.ts'
import type { Comparable, Field } from '../model/stream.ts'
import { fromComparable } from '../model/to-comparable.ts'
import { toConditions } from '../reading/filter.ts'
import { findScope } from '../reading/find-scope.ts'
import { type Reader, yieldAndCheck } from '../reading/reader.ts'
import type { Condition, Tally, TallyQuery } from '../record-store.ts'
import {
  type AggregateQuery,
  type AggregationPlan,
  type Metric,
  planAggregation,
  withDateZone,
} from './plan-aggregation.ts'
import { ShardedMap } from './sharded-map.ts'
import type { Buckets } from './time-buckets.ts'

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
  /** Records in groups beyond the limit. */
  readonly otherCount?: number
  readonly groupCount?: number
}

export const defaultGroupLimit = 10

export async function aggregateRecords(
  reader: Reader,
  request: AggregateQuery,
): Promise<Aggregation | Failed> {
  const scope = findScope(reader, request)
  if (isFailed(scope)) return scope
  const conditions = toConditions(scope, request.filter)
  if (isFailed(conditions)) return conditions
  const query = withDateZone(scope, request)
  const plan = planAggregation(scope, query)
  if (isFailed(plan)) return plan
  const { field, toKey } = plan
  if (plan.distinct) {
    const values = new ShardedMap<true>()
    const count = await tallyAll(reader, scope, { conditions, ...plan }, ({ group }) => {
      if (group !== null && !values.get(group)) values.add(group, true)
    })
    if (isFailed(count)) return count
    return { scope, query, filteredRecordCount: count, value: values.size }
  }
  const totals = new ShardedMap<Total>()
  const filteredRecordCount = await tallyAll(reader, scope, { conditions, ...plan }, (tally) =>
    addTally(totals, tally),
  )
  if (isFailed(filteredRecordCount)) return filteredRecordCount
  const base = { scope, query, filteredRecordCount }
  if (!plan.group)
    return { ...base, value: toValue(query.metric, totals.get(null) ?? emptyTally, field) }
  const { buckets } = plan.group
  const order = buckets ? byTime(buckets) : byCount(toKey)
  const topTallies = await pickFirst(
    reader,
    totals.values(),
    order,
    query.limit ?? defaultGroupLimit,
  )
  if (isFailed(topTallies)) return topTallies
  return {
    ...base,
    groups: topTallies.map((tally) => ({
      key: toKey(tally.group),
      count: tally.count,
      value: toValue(query.metric, tally, field),
    })),
    groupCount: totals.size,
    otherCount: topTallies.reduce((rest, { count }) => rest - count, filteredRecordCount),
  }
}

/** The first `limit` tallies in an order, without sorting the rest. */
async function pickFirst(
  reader: Reader,
  tallies: Iterable<Tally>,
  order: Order,
  limit: number,
): Promise<readonly Tally[] | Failed> {
  const first: Tally[] = []
  const stop = await forEachYielding(reader, tallies, (tally) => {
    const last = first.at(-1)
    if (first.length === limit && last && order(tally, last) >= 0) return
    const index = first.findIndex((one) => order(tally, one) < 0)
    first.splice(index < 0 ? first.length : index, 0, tally)
    if (first.length > limit) first.pop()
  })
  return stop ?? first
}

const batchSize = 5000

/** Yields to the event loop after every batch. */
async function forEachYielding<T>(
  reader: Reader,
  items: Iterable<T>,
  visit: (item: T) => void,
): Promise<Failed | undefined> {
  let count = 0
  for (const item of items) {
    visit(item)
    count += 1
    const stop = count % batchSize === 0 ? await yieldAndCheck(reader) : undefined
    if (stop) return stop
  }
  return undefined
}

export const countRecords = (
  reader: Reader,
  scope: Scope,
  conditions: readonly Condition[],
): Promise<number | Failed> => tallyAll(reader, scope, { conditions, distinct: false }, () => {})

/** Tallies all matching records slice by slice, and returns their count. */
async function tallyAll(
  reader: Reader,
  scope: Scope,
  query: Omit<TallyQuery, 'after'>,
  onTally: (tally: Tally) => void,
): Promise<number | Failed> {
  let count = 0
  for (let after = 0; ; ) {
    const timeout = await yieldAndCheck(reader)
    if (timeout) return timeout
    const { tallies, resume } = reader.store.tally(scope, { ...query, after })
    const stop = await forEachYielding(reader, tallies, (tally) => {
      count += tally.count
      onTally(tally)
    })
    if (stop) return stop
    if (resume === undefined) return count
    after = resume
  }
}

const emptyTally: Tally = { group: null, count: 0, valueCount: 0, sum: 0, min: null, max: null }

/** The running total of one group. */
type Total = { -readonly [Name in keyof Tally]: Tally[Name] }

function addTally(totals: ShardedMap<Total>, tally: Tally): void {
  const total = totals.get(tally.group)
  if (!total) {
    totals.add(tally.group, { ...tally })
    return
  }
  total.count += tally.count
  total.valueCount += tally.valueCount
  total.sum += tally.sum
  total.min = pickExtreme(total.min, tally.min, -1)
  total.max = pickExtreme(total.max, tally.max, 1)
}

function pickExtreme(a: Comparable | null, b: Comparable | null, sign: 1 | -1): Comparable | null {
  if (a === null || b === null) return a ?? b
  return Math.sign(compare(a, b)) === sign ? a : b
}

function toValue(metric: Metric, tally: Tally, field: Field | undefined): Json {
  switch (metric) {
    case 'count':
    case 'count_distinct':
      return tally.count
    case 'sum':
      return toStable(tally.sum)
    case 'avg':
      return tally.valueCount === 0 ? null : toStable(tally.sum / tally.valueCount)
    case 'min':
      return tally.min === null || !field ? null : fromComparable(field, tally.min)
    case 'max':
      return tally.max === null || !field ? null : fromComparable(field, tally.max)
  }
}

/** Rounds off the last digit, which depends on the order of floating-point additions. */
const toStable = (sum: number): number =>
  Number.isSafeInteger(sum) ? sum : Number(sum.toPrecision(15))

type Order = (a: Tally, b: Tally) => number
/** Zone changes set clocks back by a day at most: times further apart are ordered by value. */
const maxClockShiftMs = 48 * 3_600_000
const byTime =
  ({ ordinalAt }: Buckets): Order =>
  (a, b) => {
    const [one, other] = [Number(a.group ?? -Infinity), Number(b.group ?? -Infinity)]
    const difference = one - other
    return Math.abs(difference) < maxClockShiftMs ? ordinalAt(one) - ordinalAt(other) : difference
  }
const byCount =
  (toKey: AggregationPlan['toKey']): Order =>
  (a, b) =>
    b.count - a.count || compare(toSortText(toKey(a.group)), toSortText(toKey(b.group)))
const toSortText = (key: Json): string => (key === null ? '' : String(key))
