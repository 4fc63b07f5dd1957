import type { Json } from '../../../capability/json.ts'
import { byCodeUnit } from '../../../json/by-code-unit.ts'
import type { Aggregation, Group } from '../aggregate/aggregate-records.ts'
import type { RecordPage } from '../query/record-page.ts'

/** Groups requested from each source before merging. */
export const maxGroups = 100

/** Concatenates pages of several sources. The result has no cursor: each source is paged separately. */
export function mergePages(pages: readonly [RecordPage, ...RecordPage[]]): RecordPage {
  const [first, ...others] = pages
  if (others.length === 0) return first
  const hasMore = pages.some((page) => page.hasMore)
  const counts = pages.map(({ count }) => count)
  const { nextCursor, nextChangesSince, count, ...rest } = first
  return {
    ...rest,
    records: pages.flatMap(({ records }) => records),
    hasMore,
    count: counts.includes(undefined)
      ? undefined
      : counts.reduce<number>((sum, one) => sum + (one ?? 0), 0),
    warnings: hasMore
      ? [
          {
            code: 'partial_results',
            message:
              'Some connections have more records: read one connection at a time, with connection_id.',
            param: 'connection_id',
          },
        ]
      : [],
  }
}

export const canMerge = (metric: Aggregation['query']['metric']): boolean =>
  metric === 'count' || metric === 'sum' || metric === 'min' || metric === 'max'

/** Combines the aggregations of several sources into one. */
export function mergeAggregations(
  answers: readonly [Aggregation, ...Aggregation[]],
  limit: number,
): Aggregation & { readonly approximate: boolean } {
  const [first, ...others] = answers
  const { metric } = first.query
  const filteredRecordCount = answers.reduce((sum, one) => sum + one.filteredRecordCount, 0)
  const query = { ...first.query, limit }
  const base = { scope: first.scope, query, filteredRecordCount }
  if (!first.groups)
    return {
      ...base,
      value: others.reduce<Json>(
        (sum, one) => combine(metric, sum, one.value ?? null),
        first.value ?? null,
      ),
      approximate: false,
    }
  const groupByKey = new Map<string, Group>()
  for (const { key, count, value } of answers.flatMap(({ groups = [] }) => groups)) {
    const existing = groupByKey.get(JSON.stringify(key))
    groupByKey.set(JSON.stringify(key), {
      key,
      count: count + (existing?.count ?? 0),
      value: existing ? combine(metric, existing.value, value) : value,
    })
  }
  const byTime = first.query.groupByTime !== undefined
  const sortedGroups = [...groupByKey.values()].sort((a, b) =>
    byTime ? byCodeUnit(String(a.key), String(b.key)) : b.count - a.count,
  )
  const groups = sortedGroups.slice(0, limit)
  return {
    ...base,
    groups,
    groupCount: sortedGroups.length,
    otherCount: filteredRecordCount - groups.reduce((sum, { count }) => sum + count, 0),
    // A group outside the first groups of every source can still be large in total.
    approximate: answers.some(({ groupCount = 0 }) => groupCount > maxGroups),
  }
}

function combine(metric: Aggregation['query']['metric'], a: Json, b: Json): Json {
  if (a === null || b === null) return a ?? b
  if (metric === 'count' || metric === 'sum') return Number(a) + Number(b)
  const [smaller, larger] = a < b ? [a, b] : [b, a]
  return metric === 'min' ? smaller : larger
}
