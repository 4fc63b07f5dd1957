import { text } from '../../../capability/content.ts'
import { isPlainObject, type Json, type JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import type { Aggregation, Group } from '../aggregate/aggregate-records.ts'
import { toAggregateAnswer } from '../answers/aggregate-answer.ts'
import { toPageAnswer } from '../answers/page-answer.ts'
import { type SearchResult, toSearchAnswer } from '../answers/search-answer.ts'
import { resolveRecordId, toDocument } from '../fetch/fetch-document.ts'
import { blobField } from '../fetch/find-blob.ts'
import { toFields } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'
import { answerSchema } from '../local-reads.ts'
import { toRecordId } from '../model/record-id.ts'
import type { Field } from '../model/stream.ts'
import { toExpansions } from '../query/expand.ts'
import type { RecordPage, ServedRecord, Warning } from '../query/record-page.ts'
import { toConditions } from '../reading/filter.ts'
import { findScope } from '../reading/find-scope.ts'
import type { Reads } from '../reads.ts'
import { toSearchTargets } from '../search/search-records.ts'
import { type QueryParameters, type RemoteServer, unavailable } from './remote-server.ts'

/**
 * The same reads of records that lie elsewhere. What can be said without asking is said here: which
 * connection, which field. Nothing is asked that its server would not understand.
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
          ...repeated('fields', query.fields),
          ...repeated('expand', query.expand),
          ...Object.entries(query.expandLimit ?? {}).map(
            ([name, limit]) => [`expand_limit[${name}]`, limit] as const,
          ),
          ...filter,
        ],
        signal,
      )
      if (isFailed(body)) return body
      const page = toPage(scope, fields, body)
      return page ? toPageAnswer(page) : unavailable('its page of records cannot be understood')
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
      const places = toSearchTargets(reader, query)
      if (isFailed(places)) return places
      const body = await server.get(
        ['search'],
        [
          ['q', query.q],
          ['limit', query.limit ?? usualHits],
          ['cursor', query.cursor],
          ['connection_id', query.connection],
          ...repeated('streams', query.streams),
          ...toFilterParameters(query.filter),
        ],
        signal,
      )
      if (isFailed(body)) return body
      const results = listOf(body.data).flatMap((hit) => toResult(server, scopes, hit) ?? [])
      const nextCursor = typeof body.next_cursor === 'string' ? body.next_cursor : undefined
      return toSearchAnswer({ results, nextCursor, warnings: readWarnings(body) })
    },

    async fetch(query) {
      const named = resolveRecordId(reader, query)
      if (isFailed(named)) return named
      const { scope, key } = named
      const fields = toFields(scope, query)
      if (isFailed(fields)) return fields
      const { connection, stream } = scope.source
      const body = await server.get(
        ['streams', stream.name, 'records', key],
        [['connection_id', connection.id], ...repeated('fields', query.fields)],
        signal,
      )
      if (isFailed(body)) return body
      const record = toRecord(scope, fields, body)
      if (!record?.data) return unavailable('its record cannot be understood')
      const row = { key, emittedAt: record.emitted_at, body: JSON.stringify(record.data) }
      const document = toDocument(scope, fields, row, query)
      return { kind: 'done', data: document, content: [text(JSON.stringify(document))] }
    },
  }
}

const usualHits = 10

const repeated = (name: string, values: readonly string[] | undefined): QueryParameters =>
  (values ?? []).map((value) => [name, value] as const)

function toFilterQuery(scope: Scope, filter: unknown): QueryParameters | Failed {
  const conditions = toConditions(scope, filter)
  return isFailed(conditions) ? conditions : toFilterParameters(filter)
}

/** `filter[field]=v` and `filter[field][gte]=v`, of one that is known to be sound. */
const toFilterParameters = (filter: unknown): QueryParameters =>
  Object.entries((filter ?? {}) as object).flatMap(([name, wanted]) =>
    isPlainObject(wanted)
      ? Object.entries(wanted).map(
          ([operator, value]) => [`filter[${name}][${operator}]`, String(value)] as const,
        )
      : [[`filter[${name}]`, String(wanted)] as const],
  )

function toPage(scope: Scope, fields: readonly Field[], body: JsonObject): RecordPage | undefined {
  if (!Array.isArray(body.data)) return undefined
  const records = body.data.map((row) =>
    isPlainObject(row) ? toRecord(scope, fields, row) : undefined,
  )
  if (!records.every((record) => record !== undefined)) return undefined
  const count =
    isPlainObject(body.meta) && isPlainObject(body.meta.count) ? body.meta.count.value : undefined
  return {
    scope,
    fields,
    records,
    hasMore: body.has_more === true,
    ...(typeof body.next_cursor === 'string' && { nextCursor: body.next_cursor }),
    ...(typeof body.next_changes_since === 'string' && {
      nextChangesSince: body.next_changes_since,
    }),
    ...(typeof count === 'number' && { count }),
    warnings: readWarnings(body),
  }
}

/** Nothing that was not asked for, and none of the names that were given up. */
function toRecord(
  { source: { connection, stream } }: Scope,
  fields: readonly Field[],
  row: Readonly<Record<string, unknown>>,
): ServedRecord | undefined {
  const { id, emitted_at, deleted, deleted_at, data, expanded } = row
  if (typeof id !== 'string') return undefined
  const whole = isPlainObject(data) ? data : undefined
  const shown = fields.filter(({ name }) => whole && Object.hasOwn(whole, name))
  return {
    object: 'record',
    id,
    stream: stream.name,
    connection_id: connection.id,
    ...(connection.label !== undefined && { display_name: connection.label }),
    emitted_at: String(emitted_at ?? deleted_at ?? ''),
    ...(deleted === true && { deleted, deleted_at: String(deleted_at ?? '') }),
    ...(whole && {
      data: Object.fromEntries(shown.map(({ name }) => [name, toOwn(name, whole[name])])),
    }),
    ...(isPlainObject(expanded) && { expanded: expanded as JsonObject }),
  }
}

/** Where its server has the bytes nobody here can fetch them: they are not asked with its token. */
function toOwn(name: string, value: unknown): Json {
  if (name !== blobField || !isPlainObject(value)) return value as Json
  const { fetch_url, ...blob } = value
  return blob as JsonObject
}

function readAggregation(body: JsonObject): Omit<Aggregation, 'scope' | 'query'> {
  const filteredRecordCount = Number(body.filtered_record_count ?? 0)
  if (!Array.isArray(body.groups)) return { filteredRecordCount, value: body.value ?? null }
  const groups = listOf(body.groups).map(
    ({ key, count, value }): Group => ({
      key: (key ?? null) as Json,
      count: Number(count),
      value: (value ?? count ?? null) as Json,
    }),
  )
  const shown = groups.reduce((sum, { count }) => sum + count, 0)
  return {
    filteredRecordCount,
    groups,
    groupCount: Number(body.group_count ?? groups.length),
    otherCount: Number(body.other_count ?? filteredRecordCount - shown),
  }
}

function toResult(
  server: RemoteServer,
  scopes: readonly Scope[],
  hit: Readonly<Record<string, unknown>>,
): SearchResult | undefined {
  const [stream, key] = [hit.stream, hit.record_key ?? hit.record_id]
  const scope = scopes.find(
    ({ source }) =>
      source.stream.name === stream &&
      (hit.connection_id ?? source.connection.id) === source.connection.id,
  )
  if (!scope || typeof stream !== 'string' || typeof key !== 'string') return undefined
  const { connection, stream: declared } = scope.source
  const time = String(hit.authored_at ?? hit.emitted_at ?? key)
  const whose = connection.label ?? connection.connector
  const snippet = isPlainObject(hit.snippet) ? hit.snippet.text : hit.snippet
  return {
    id: toRecordId(connection.id, stream, key),
    title:
      typeof hit.title === 'string'
        ? hit.title
        : [whose, declared.title ?? stream, time].join(' / '),
    url: toUrl(server, hit, [stream, key, connection.id]),
    stream,
    record_id: key,
    connection_id: connection.id,
    connector_key: connection.connector,
    ...(connection.label !== undefined && { display_name: connection.label }),
    ...(typeof hit.emitted_at === 'string' && { emitted_at: hit.emitted_at }),
    ...(typeof hit.authored_at === 'string' && { authored_at: hit.authored_at }),
    matched_fields: Array.isArray(hit.matched_fields) ? hit.matched_fields : [],
    snippet: typeof snippet === 'string' ? snippet : '',
    ...(hit.score !== undefined && { score: hit.score as Json }),
  }
}

function toUrl(
  { address }: RemoteServer,
  { url }: Readonly<Record<string, unknown>>,
  [stream, key, connection]: readonly [string, string, string],
): string {
  if (typeof url === 'string' && /^https?:\/\/[^\s<>"]+$/.test(url)) return url
  const [name, id, where] = [stream, key, connection].map(encodeURIComponent)
  return `${address}/v1/streams/${name}/records/${id}?connection_id=${where}`
}

function readWarnings({ meta }: JsonObject): readonly Warning[] {
  return listOf(isPlainObject(meta) ? meta.warnings : undefined).flatMap(({ code, message }) =>
    typeof code === 'string' && typeof message === 'string'
      ? [{ code, message: message.slice(0, 500) }]
      : [],
  )
}

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : []
