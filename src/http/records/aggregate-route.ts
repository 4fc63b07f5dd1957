import { type Failed, isFailed } from '../../capability/outcome.ts'
import { dropUndefined } from '../../json/drop-undefined.ts'
import {
  type Aggregation,
  aggregateRecords,
} from '../../sources/records/aggregate/aggregate-records.ts'
import { type AggregateQuery, metrics } from '../../sources/records/aggregate/plan-aggregation.ts'
import { granularities } from '../../sources/records/aggregate/time-buckets.ts'
import { toAggregationData } from '../../sources/records/answers/aggregate-answer.ts'
import {
  canMerge,
  maxGroups,
  mergeAggregations,
} from '../../sources/records/answers/merge-pages.ts'
import { cannotRead } from '../../sources/records/failures.ts'
import { findAllScopes } from '../../sources/records/reading/find-scope.ts'
import { recordAggregation } from '../../sources/records/reading/record-disclosure.ts'
import { needsConnection, pick, type ReadRoute } from './read-route.ts'
import type { QueryParameters } from './records-parameters.ts'

/** Counts, sums and other metrics of a stream, in total or by group. */
export const aggregateRoute: ReadRoute = {
  path: /^\/v1\/streams\/([^/]+)\/aggregate$/,
  tool: 'aggregate',
  parameters: [
    'metric',
    'field',
    'group_by',
    'group_by_time',
    'granularity',
    'time_zone',
    'limit',
    'filter',
  ],
  allowedValues: { granularity: granularities },
  async read(reader, parameters, [stream = '']) {
    const { one, filter } = parameters
    const query = toAggregateQuery(parameters, stream)
    if (isFailed(query)) return query
    const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
    if (isFailed(scopes)) return scopes
    const isMerged = scopes.length > 1
    if (isMerged && !canMerge(query.metric))
      return needsConnection(scopes, `${query.metric} cannot be combined across connections`)
    const answers: Aggregation[] = []
    for (const scope of scopes) {
      const answer = await aggregateRecords(
        reader,
        dropUndefined({
          ...query,
          connection: scope.source.connection.id,
          filter: filter(scope),
          limit: isMerged ? maxGroups : query.limit,
        }),
      )
      if (isFailed(answer)) return answer
      recordAggregation(reader, answer, 'v1/aggregate')
      answers.push(answer)
    }
    const [first] = answers
    if (first && !isMerged) return toAggregationData(first)
    const merged = mergeAggregations(answers as [Aggregation, ...Aggregation[]], query.limit ?? 10)
    const { connection_id, ...data } = toAggregationData(merged)
    return { ...data, approximate: merged.approximate }
  },
}

function toAggregateQuery({ one }: QueryParameters, stream: string): AggregateQuery | Failed {
  const metric = pick(metrics, one('metric'))
  const limit = one('limit')
  if (!metric) return cannotRead('invalid_request', `metric must be one of ${metrics.join(', ')}.`)
  if (limit !== undefined && !(Number(limit) >= 1 && Number(limit) <= 100))
    return cannotRead('invalid_request', 'limit must be from 1 to 100.')
  return dropUndefined({
    stream,
    metric,
    field: one('field'),
    groupBy: one('group_by'),
    groupByTime: one('group_by_time'),
    granularity: pick(granularities, one('granularity')),
    timeZone: one('time_zone'),
    limit: limit === undefined ? undefined : Number(limit),
  })
}
