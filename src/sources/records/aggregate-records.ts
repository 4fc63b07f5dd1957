import type { Json } from '../../capability/json.ts'
import type { Failed } from '../../capability/outcome.ts'
import { compare } from './compare.ts'
import { cannotRead } from './failures.ts'
import { toConditions, unknownField } from './filter.ts'
import { findScope, type Wanted } from './find-scope.ts'
import type { AggregateUse, Comparable, Field } from './model.ts'
import { breathe, isFailed, type Reader } from './reader.ts'
import type { Condition, Tally, TallyQuery } from './record-store.ts'
import type { Scope } from './scope.ts'
import { createBuckets, type Granularity, stepOf } from './time-buckets.ts'
import { fromComparable } from './to-comparable.ts'

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

const usualGroups = 10

export async function aggregateRecords(
  reader: Reader,
  query: AggregateQuery,
): Promise<Aggregation | Failed> {
  const scope = findScope(reader, query)
  if (isFailed(scope)) return scope
  const conditions = toConditions(scope, query.filter)
  if (isFailed(conditions)) return conditions
  const plan = toPlan(scope, query)
  if (isFailed(plan)) return plan
  const gathered = await gather(reader, scope, { conditions, ...plan })
  if (gathered instanceof Map === false) return gathered
  const { field, toKey, toName } = plan
  const merged = await merge(reader, gathered, toKey)
  if (merged instanceof Map === false) return merged
  const filteredRecordCount = sumCounts(merged.values())
  const base = { scope, query, filteredRecordCount }
  if (query.metric === 'count_distinct')
    return { ...base, value: merged.size - (merged.has(null) ? 1 : 0) }
  if (!plan.group) {
    const [total = nothing] = merged.values()
    return { ...base, value: toValue(query.metric, total, field) }
  }
  const order = query.groupByTime === undefined ? byCount : byTime
  const shown = await pickFirst(reader, merged, order, query.limit ?? usualGroups)
  if ('kind' in shown) return shown
  return {
    ...base,
    groups: shown.map(([key, tally]) => ({
      key: toName && tally.group !== null ? toName(tally.group) : key,
      count: tally.count,
      value: toValue(query.metric, tally, field),
    })),
    groupCount: merged.size,
    otherCount: filteredRecordCount - sumCounts(shown.map(([, tally]) => tally)),
  }
}

/** Groups of the store that are one group here become one. */
async function merge(
  reader: Reader,
  gathered: Gathered,
  toKey: Plan['toKey'],
): Promise<Map<Json, Tally> | Failed> {
  const merged = new Map<Json, Tally>()
  const stop = await inTurns(reader, gathered.values(), (tally) =>
    put(merged, toKey(tally.group), tally),
  )
  return stop ?? merged
}

/** The first so many in an order, without putting all the others in order, too. */
async function pickFirst(
  reader: Reader,
  entries: Iterable<Entry>,
  order: (a: Entry, b: Entry) => number,
  limit: number,
): Promise<readonly Entry[] | Failed> {
  const first: Entry[] = []
  const stop = await inTurns(reader, entries, (entry) => {
    const last = first.at(-1)
    if (first.length === limit && last && order(entry, last) >= 0) return
    const place = first.findIndex((one) => order(entry, one) < 0)
    first.splice(place < 0 ? first.length : place, 0, entry)
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
    const stop = done % turnLength === 0 ? await breathe(reader) : undefined
    if (stop) return stop
  }
  return undefined
}

function sumCounts(tallies: Iterable<Tally>): number {
  let sum = 0
  for (const { count } of tallies) sum += count
  return sum
}

export async function countRecords(
  reader: Reader,
  scope: Scope,
  conditions: readonly Condition[],
): Promise<number | Failed> {
  const tallies = await gather(reader, scope, { conditions, distinct: false })
  return tallies instanceof Map ? (tallies.get(null)?.count ?? 0) : tallies
}

interface Plan {
  readonly field?: Field
  readonly group?: NonNullable<TallyQuery['group']>
  readonly distinct: boolean
  readonly toKey: (group: Comparable | null) => Json
  /** What a group is called, where that is not its key. */
  readonly toName?: (group: Comparable) => string
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
    toKey: (group) => (group === null ? null : buckets.ordinalAt(Number(group))),
    toName: (group) => buckets.nameAt(Number(group)),
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

type Gathered = Map<Comparable | null, Tally>

/** Span by span, so that nobody waits long for anybody. */
async function gather(
  reader: Reader,
  scope: Scope,
  query: Omit<TallyQuery, 'span'>,
): Promise<Gathered | Failed> {
  const gathered: Gathered = new Map()
  for (let after = 0; ; ) {
    const end = reader.store.span(scope, after)
    if (end === undefined) return gathered
    const tallies = reader.store.tally(scope, { ...query, span: [after, end] })
    after = end
    const stop =
      (await breathe(reader)) ??
      (await inTurns(reader, tallies, (tally) => put(gathered, tally.group, tally)))
    if (stop) return stop
  }
}

const nothing: Tally = { group: null, count: 0, valued: 0, sum: 0, min: null, max: null }

const add = (a: Tally, b: Tally): Tally => ({
  group: a.group,
  count: a.count + b.count,
  valued: a.valued + b.valued,
  sum: a.sum + b.sum,
  min: pick(a.min, b.min, -1),
  max: pick(a.max, b.max, 1),
})

function put<Key>(tallies: Map<Key, Tally>, key: Key, tally: Tally): void {
  const known = tallies.get(key)
  tallies.set(key, known ? add(known, tally) : tally)
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

type Entry = readonly [Json, Tally]
const text = (key: Json): string => (key === null ? '' : String(key))
const byKey = ([a]: Entry, [b]: Entry): number => compare(text(a), text(b))
const byTime = ([a]: Entry, [b]: Entry): number => Number(a ?? -Infinity) - Number(b ?? -Infinity)
const byCount = (a: Entry, b: Entry): number => b[1].count - a[1].count || byKey(a, b)
