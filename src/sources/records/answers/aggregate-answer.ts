import { text } from '../../../capability/content.ts'
import type { JsonObject } from '../../../capability/json.ts'
import type { Done } from '../../../capability/outcome.ts'
import { type Aggregation, defaultGroupLimit } from '../aggregate/aggregate-records.ts'
import { quoteName } from '../schema/stream-features.ts'

export function toAggregateAnswer(answer: Aggregation): Done {
  const { scope, query, groups } = answer
  const { connection, stream } = scope.source
  const title = `${query.metric}${query.field === undefined ? '' : ` of ${quoteName(query.field)}`} in stream ${quoteName(stream.name)}, connection_id ${quoteName(connection.id)}`
  const lines = groups
    ? [
        `${title}, by ${quoteName(query.groupBy ?? query.groupByTime ?? '')}${query.granularity ? ` per ${query.granularity} (${query.timeZone ?? 'UTC'})` : ''}: ${groups.length} of ${answer.groupCount} groups, ${answer.filteredRecordCount} records, other_count ${answer.otherCount}.`,
        ...groups.map(({ key, value }) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`),
        ...((answer.groupCount ?? 0) > groups.length
          ? ['Raise limit (at most 100) or filter to see more groups.']
          : []),
      ]
    : [`${title} = ${JSON.stringify(answer.value)}. ${answer.filteredRecordCount} records match.`]
  return {
    kind: 'done',
    data: { data: toAggregationData(answer) },
    content: [text(lines.join('\n'))],
  }
}

export function toAggregationData(answer: Aggregation): JsonObject {
  const { scope, query, groups } = answer
  return {
    object: 'aggregation',
    stream: scope.source.stream.name,
    connection_id: scope.source.connection.id,
    metric: query.metric,
    field: query.field ?? null,
    group_by: query.groupBy ?? null,
    group_by_time: query.groupByTime ?? null,
    granularity: query.granularity ?? null,
    time_zone: query.groupByTime === undefined ? null : (query.timeZone ?? 'UTC'),
    approximate: false,
    filtered_record_count: answer.filteredRecordCount,
    ...(groups
      ? {
          groups: groups.map(({ key, count, value }) => ({
            key,
            count,
            value: query.metric === 'count' ? undefined : value,
          })),
          limit: query.limit ?? defaultGroupLimit,
          group_count: answer.groupCount ?? 0,
          other_count: answer.otherCount ?? 0,
        }
      : { value: answer.value ?? null }),
  }
}
