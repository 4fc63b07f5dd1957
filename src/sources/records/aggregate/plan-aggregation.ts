import type { Json } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { AggregateUse, Comparable, Field } from '../model/stream.ts'
import { fromComparable } from '../model/to-comparable.ts'
import { unknownField } from '../reading/filter.ts'
import type { SourceSelector } from '../reading/find-scope.ts'
import type { Grouping } from '../record-store.ts'
import { type Buckets, createBuckets, type Granularity, toStepMs } from './time-buckets.ts'

export const metrics = ['count', 'sum', 'avg', 'min', 'max', 'count_distinct'] as const
export type Metric = (typeof metrics)[number]

export interface AggregateQuery extends SourceSelector {
  readonly metric: Metric
  readonly field?: string | undefined
  readonly groupBy?: string | undefined
  readonly groupByTime?: string | undefined
  readonly granularity?: Granularity | undefined
  readonly timeZone?: string | undefined
  readonly limit?: number | undefined
  readonly filter?: unknown
}

/** A checked aggregation: the fields to read and how to name its groups. */
export interface AggregationPlan {
  readonly field: Field | undefined
  readonly group?: PlannedGrouping
  readonly distinct: boolean
  /** A group's key in the answer. */
  readonly toKey: (group: Comparable | null) => Json
}

interface PlannedGrouping extends Grouping {
  readonly buckets?: Buckets
}

export function planAggregation(scope: Scope, query: AggregateQuery): AggregationPlan | Failed {
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
      `${metric} needs a field. Call schema with this stream for the fields it can use.`,
    )
  if (metric === 'count_distinct' && (groupBy !== undefined || groupByTime !== undefined))
    return cannotRead('invalid_argument', 'count_distinct cannot be grouped.')
  if ((groupByTime === undefined) !== (granularity === undefined))
    return cannotRead('invalid_argument', 'group_by_time and granularity must be used together.')
  const field = metric === 'count' ? undefined : findUsable(scope, query.field ?? '', metric)
  if (isFailed(field)) return field
  const base = { field, distinct: metric === 'count_distinct' }
  if (metric === 'count_distinct') return { ...base, toKey: (group) => group }
  if (groupBy !== undefined) {
    const by = findUsable(scope, groupBy, 'group_by')
    if (isFailed(by)) return by
    const toKey = (group: Comparable | null) => (group === null ? null : fromComparable(by, group))
    return { ...base, group: { field: by }, toKey }
  }
  if (groupByTime === undefined || granularity === undefined) return { ...base, toKey: () => null }
  const by = findUsable(scope, groupByTime, 'group_by_time')
  if (isFailed(by)) return by
  const buckets = createBuckets(granularity, timeZone)
  if (!buckets)
    return cannotRead(
      'invalid_argument',
      `Unknown time_zone ${JSON.stringify(timeZone.slice(0, 100))}. Use an IANA name such as Europe/Rome.`,
    )
  return {
    ...base,
    group: { field: by, step: toStepMs(granularity), buckets },
    toKey: (group) => (group === null ? null : buckets.nameAt(Number(group))),
  }
}

/** Reports an undeclared use; a field that is not granted is reported as unknown. */
function findUsable(scope: Scope, name: string, use: AggregateUse): Field | Failed {
  const field = scope.fields.get(name)
  if (!field) return unknownField(scope, name)
  if (field.aggregates.includes(use)) return field
  const others = [...scope.fields.values()].filter(({ aggregates }) => aggregates.includes(use))
  return cannotRead(
    'invalid_argument',
    `${name} cannot be used for ${use}. ${others.length === 0 ? 'No field of this stream can.' : `These can: ${others.map((one) => one.name).join(', ')}.`}`,
  )
}

/** Dates are bucketed in UTC: a date has no zone, and a western one would shift it to the day before. */
export function withDateZone(scope: Scope, query: AggregateQuery): AggregateQuery {
  const field = scope.fields.get(query.groupByTime ?? '')
  const isValidZone =
    query.timeZone !== undefined && createBuckets('day', query.timeZone) !== undefined
  return field?.type === 'date' && isValidZone ? { ...query, timeZone: 'UTC' } : query
}
