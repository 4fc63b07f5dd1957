import { byCodePoint, type Json } from '../../../capability/json.ts'
import type { Aggregation, Group } from '../aggregate/aggregate-records.ts'
import type { RecordPage } from '../query/record-page.ts'

/** Groups that are asked of each source, to be merged. */
export const maxGroups = 100

/** Pages of several sources, one after the other. There is no going on with all of them at once. */
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
    ...(counts.every((one) => one !== undefined) && {
      count: counts.reduce<number>((sum, one) => sum + (one ?? 0), 0),
    }),
    warnings: hasMore
      ? [
          {
            code: 'partial_results',
            message: 'There is more in some connections: read one at a time, with connection_id.',
            param: 'connection_id',
          },
        ]
      : [],
  }
}

export const canMerge = (metric: Aggregation['query']['metric']): boolean =>
  metric === 'count' || metric === 'sum' || metric === 'min' || metric === 'max'

/** What several sources counted, as if it were one. */
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
        (sum, one) => join(metric, sum, one.value ?? null),
        first.value ?? null,
      ),
      approximate: false,
    }
  const merged = new Map<string, Group>()
  for (const { key, count, value } of answers.flatMap(({ groups = [] }) => groups)) {
    const known = merged.get(JSON.stringify(key))
    merged.set(JSON.stringify(key), {
      key,
      count: count + (known?.count ?? 0),
      value: known ? join(metric, known.value, value) : value,
    })
  }
  const byTime = first.query.groupByTime !== undefined
  const ordered = [...merged.values()].sort((a, b) =>
    byTime ? byCodePoint(String(a.key), String(b.key)) : b.count - a.count,
  )
  const shown = ordered.slice(0, limit)
  return {
    ...base,
    groups: shown,
    groupCount: ordered.length,
    otherCount: filteredRecordCount - shown.reduce((sum, { count }) => sum + count, 0),
    // A group that is small in every source may be large in all of them.
    approximate: answers.some(({ groupCount = 0 }) => groupCount > maxGroups),
  }
}

function join(metric: Aggregation['query']['metric'], a: Json, b: Json): Json {
  if (a === null || b === null) return a ?? b
  if (metric === 'count' || metric === 'sum') return Number(a) + Number(b)
  const [smaller, larger] = a < b ? [a, b] : [b, a]
  return metric === 'min' ? smaller : larger
}
