import { text } from '../../../capability/content.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import { toAggregateAnswer } from '../answers/aggregate-answer.ts'
import { toPageAnswer } from '../answers/page-answer.ts'
import { toSearchAnswer } from '../answers/search-answer.ts'
import { resolveRecordId, toDocument } from '../fetch/fetch-document.ts'
import { answerSchema } from '../local-reads.ts'
import type { Scope } from '../model/scope.ts'
import { toExpansions } from '../query/expand.ts'
import { toConditions } from '../reading/filter.ts'
import { findScope } from '../reading/find-scope.ts'
import { toFields } from '../reading/project-fields.ts'
import type { Reads } from '../reads.ts'
import { toSearchTargets } from '../search/search-records.ts'
import {
  readAggregation,
  readHit,
  readPage,
  readRecord,
  readWarnings,
  toText,
} from './read-responses.ts'
import { toObjects } from './read-scopes.ts'
import { type RemoteQuery, type RemoteServer, remoteUnavailable } from './remote-server.ts'

/**
 * Reads of records on a remote server. Queries are checked against the server's schema first, so that
 * wrong connections and fields fail locally and the server only receives requests it supports.
 */
export function remoteReads(
  server: RemoteServer,
  scopes: readonly Scope[],
  signal: AbortSignal,
): Reads {
  const reader = { scopes }
  return {
    schema: (query) => answerSchema(reader, query),

    async query(query) {
      const scope = findScope(reader, query)
      if (isFailed(scope)) return scope
      const fields = toFields(scope, query)
      if (isFailed(fields)) return fields
      const filter = toFilterQuery(scope, query.filter)
      if (isFailed(filter)) return filter
      const expansions = toExpansions(reader, scope, query)
      if (isFailed(expansions)) return expansions
      const body = await server.get(
        ['streams', query.stream, 'records'],
        [
          ['connection_id', scope.source.connection.id],
          ['limit', query.limit],
          ['cursor', query.cursor],
          ['sort', query.sort],
          ['order', query.order],
          ['count', query.count],
          ['view', query.view],
          ['changes_since', query.changesSince],
          ...toRepeated('fields', query.fields),
          ...toRepeated('expand', query.expand),
          ...Object.entries(query.expandLimit ?? {}).map(
            ([name, limit]) => [`expand_limit[${name}]`, limit] as const,
          ),
          ...filter,
        ],
        signal,
      )
      if (isFailed(body)) return body
      const page = readPage(scope, fields, body)
      return page ? toPageAnswer(page) : remoteUnavailable('its page of records cannot be parsed')
    },

    async aggregate(query) {
      const scope = findScope(reader, query)
      if (isFailed(scope)) return scope
      const filter = toFilterQuery(scope, query.filter)
      if (isFailed(filter)) return filter
      const body = await server.get(
        ['streams', query.stream, 'aggregate'],
        [
          ['connection_id', scope.source.connection.id],
          ['metric', query.metric],
          ['field', query.field],
          ['group_by', query.groupBy],
          ['group_by_time', query.groupByTime],
          ['granularity', query.granularity],
          ['time_zone', query.timeZone],
          ['limit', query.limit],
          ...filter,
        ],
        signal,
      )
      return isFailed(body) ? body : toAggregateAnswer({ scope, query, ...readAggregation(body) })
    },

    async search(query) {
      const targets = toSearchTargets(reader, query)
      if (isFailed(targets)) return targets
      const body = await server.get(
        ['search'],
        [
          ['q', query.q],
          ['limit', query.limit ?? defaultHits],
          ['cursor', query.cursor],
          ['connection_id', query.connection],
          ...toRepeated('streams', query.streams),
          ...toFilterParameters(query.filter),
        ],
        signal,
      )
      if (isFailed(body)) return body
      const results = toObjects(body.data).flatMap((hit) => readHit(server, scopes, hit) ?? [])
      return toSearchAnswer({
        results,
        nextCursor: toText(body.next_cursor),
        warnings: readWarnings(body),
      })
    },

    async fetch(query) {
      const target = resolveRecordId(reader, query)
      if (isFailed(target)) return target
      const { scope, key } = target
      const fields = toFields(scope, query)
      if (isFailed(fields)) return fields
      const { connection, stream } = scope.source
      const body = await server.get(
        ['streams', stream.name, 'records', key],
        [['connection_id', connection.id], ...toRepeated('fields', query.fields)],
        signal,
      )
      if (isFailed(body)) return body
      const record = readRecord(scope, fields, body)
      if (!record?.data) return remoteUnavailable('its record cannot be parsed')
      const row = { key, emittedAt: record.emitted_at, body: JSON.stringify(record.data) }
      const document = toDocument(scope, fields, row, query)
      return { kind: 'done', data: document, content: [text(JSON.stringify(document))] }
    },
  }
}

const defaultHits = 10

const toRepeated = (name: string, values: readonly string[] | undefined): RemoteQuery =>
  (values ?? []).map((value) => [name, value] as const)

function toFilterQuery(scope: Scope, filter: unknown): RemoteQuery | Failed {
  const conditions = toConditions(scope, filter)
  return isFailed(conditions) ? conditions : toFilterParameters(filter)
}

/** `filter[field]=v` and `filter[field][gte]=v`; the filter has already been checked. */
const toFilterParameters = (filter: unknown): RemoteQuery =>
  Object.entries((filter ?? {}) as object).flatMap(([name, operand]) =>
    isPlainObject(operand)
      ? Object.entries(operand).map(
          ([operator, value]) => [`filter[${name}][${operator}]`, String(value)] as const,
        )
      : [[`filter[${name}]`, String(operand)] as const],
  )
