import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../capability/json.ts'
import type { Failed } from '../capability/outcome.ts'
import type { HttpReply } from '../mcp/http-port.ts'
import { aggregateRecords, metrics } from '../sources/records/aggregate-records.ts'
import {
  noteHits,
  toAggregationData,
  toEnvelope,
  toSearchEnvelope,
} from '../sources/records/answers.ts'
import { describeSchema } from '../sources/records/describe-schema.ts'
import { type Door, refusalWords } from '../sources/records/door.ts'
import { expandRecords, toExpansions } from '../sources/records/expand.ts'
import { cannotRead, type ReadFailureCode } from '../sources/records/failures.ts'
import { noRecord } from '../sources/records/fetch-document.ts'
import { findScope } from '../sources/records/find-scope.ts'
import { note } from '../sources/records/note.ts'
import { toFields } from '../sources/records/project.ts'
import {
  mostRecords,
  queryRecords,
  toRecord,
  usualLimit,
} from '../sources/records/query-records.ts'
import { isFailed, type Reader } from '../sources/records/reader.ts'
import { searchRecords } from '../sources/records/search-records.ts'
import { granularities } from '../sources/records/time-buckets.ts'
import { admitByGrant, refusalStatus, toChallenge } from './grant-callers.ts'
import type { Arrival } from './handler.ts'
import { type Parameters, readParameters } from './records-parameters.ts'

const version = '2026-04-06'

export const isRecordsPath = (path: string): boolean =>
  path === '/v1' ||
  path.startsWith('/v1/') ||
  path.startsWith('/.well-known/oauth-protected-resource')

type Answer = JsonObject | Failed

interface Route {
  readonly path: RegExp
  /** Everything it understands; anything else is an error. */
  readonly parameters: readonly string[]
  answer(reader: Reader, parameters: Parameters, names: readonly string[]): Promise<Answer> | Answer
}

/** The read contract, route by route. */
const routes: readonly Route[] = [
  {
    path: /^\/v1\/schema$/,
    parameters: ['view', 'stream', 'detail'],
    answer(reader, { one }) {
      const detail = one('detail') === 'full' ? 'full' : 'compact'
      const answer = describeSchema(reader, {
        stream: one('stream'),
        connection: one('connection_id'),
        detail,
      })
      if (isFailed(answer)) return answer
      return { ...answer.data, bearer: toBearerData(reader) }
    },
  },
  {
    path: /^\/v1\/streams$/,
    parameters: [],
    answer(reader, { one }) {
      const connection = one('connection_id')
      const rows = reader.scopes
        .filter(({ source }) => (connection ?? source.connection.id) === source.connection.id)
        .map((scope) => ({
          object: 'stream',
          name: scope.source.stream.name,
          connector_key: scope.source.connection.connector,
          ...toConnectionData(scope.source.connection),
          last_updated: reader.store.lastUpdated(scope) ?? null,
        }))
      return toList(rows)
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)$/,
    parameters: [],
    answer(reader, { one }, [stream = '']) {
      const scope = findScope(reader, { stream, connection: one('connection_id') })
      if (isFailed(scope)) return scope
      const connection = scope.source.connection.id
      const answer = describeSchema(reader, { stream, connection, detail: 'full' })
      return isFailed(answer) ? answer : { ...answer.data, object: 'stream_metadata' }
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/records$/,
    parameters: [
      'limit',
      'cursor',
      'sort',
      'order',
      'fields',
      'view',
      'filter',
      'expand',
      'expand_limit',
      'changes_since',
      'count',
    ],
    async answer(reader, parameters, [stream = '']) {
      const { one, many, filter, limits } = parameters
      const asked = Number(one('limit') ?? usualLimit)
      const limit = Number.isInteger(asked) && asked > 0 ? asked : usualLimit
      const page = await queryRecords(reader, {
        stream,
        connection: one('connection_id'),
        limit,
        cursor: one('cursor'),
        sort: one('sort'),
        order: pick(['asc', 'desc'] as const, one('order')),
        count: pick(['none', 'estimated', 'exact'] as const, one('count')),
        fields: many('fields'),
        view: one('view'),
        filter: filter(findScope(reader, { stream, connection: one('connection_id') })),
        expand: many('expand'),
        expandLimit: limits,
        changesSince: one('changes_since'),
      })
      if (isFailed(page)) return page
      note(reader, page.scope, {
        tool: 'v1/records',
        fields: page.fields,
        records: page.records.map(({ id }) => id),
      })
      const clamped = { code: 'limit_clamped', message: `limit was set to ${mostRecords}.` }
      return toEnvelope({ ...page, warnings: limit > mostRecords ? [clamped] : [] })
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/records\/([^/]+)$/,
    parameters: ['fields', 'expand', 'expand_limit'],
    answer(reader, { one, many, limits }, [stream = '', key = '']) {
      const scope = findScope(reader, { stream, connection: one('connection_id') })
      if (isFailed(scope)) return scope
      const fields = toFields(scope, { fields: many('fields') })
      if (isFailed(fields)) return fields
      const expansions = toExpansions(reader, scope, {
        expand: many('expand'),
        expandLimit: limits,
      })
      if (isFailed(expansions)) return expansions
      const row = reader.store.find(scope, key)
      if (!row) return noRecord()
      note(reader, scope, { tool: 'v1/record', fields, records: [key] })
      const record = {
        ...toRecord(scope, fields, row),
        connector_key: scope.source.connection.connector,
      }
      return expandRecords(reader, scope, [row], [record], expansions)[0] ?? record
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/aggregate$/,
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
    async answer(reader, { one, filter }, [stream = '']) {
      const metric = pick(metrics, one('metric'))
      const limit = one('limit')
      if (!metric)
        return cannotRead('invalid_request', `metric must be one of ${metrics.join(', ')}.`)
      if (limit !== undefined && !(Number(limit) >= 1 && Number(limit) <= 100))
        return cannotRead('invalid_request', 'limit must be from 1 to 100.')
      const answer = await aggregateRecords(reader, {
        stream,
        connection: one('connection_id'),
        metric,
        field: one('field'),
        groupBy: one('group_by'),
        groupByTime: one('group_by_time'),
        granularity: pick(granularities, one('granularity')),
        timeZone: one('time_zone'),
        ...(limit !== undefined && { limit: Number(limit) }),
        filter: filter(findScope(reader, { stream, connection: one('connection_id') })),
      })
      if (isFailed(answer)) return answer
      note(reader, answer.scope, { tool: 'v1/aggregate', fields: [], records: [] })
      return toAggregationData(answer)
    },
  },
  {
    path: /^\/v1\/search$/,
    parameters: ['q', 'streams', 'streams[]', 'limit', 'cursor', 'filter'],
    async answer(reader, { one, many, filter }) {
      const streams = many('streams') ?? many('streams[]')
      const [stream] = streams ?? []
      const page = await searchRecords(reader, {
        q: one('q') ?? '',
        streams,
        connection: one('connection_id'),
        limit: Math.min(Number(one('limit') ?? usualLimit) || usualLimit, 100),
        cursor: one('cursor'),
        filter: filter(
          stream === undefined
            ? cannotRead('invalid_filter', 'A filter needs exactly one stream.')
            : (reader.scopes.find(({ source }) => source.stream.name === stream) ??
                cannotRead('unknown_stream', 'There is no such stream here.')),
        ),
      })
      if (isFailed(page)) return page
      noteHits(reader, page.hits)
      return toSearchEnvelope(page)
    },
  },
]

/** `/v1`: the same reads, for programs that speak HTTP and no MCP. */
export async function serveRecords(
  doors: ReadonlyMap<string, Door>,
  arrival: Arrival,
  reply: HttpReply,
): Promise<void> {
  const { method, path, headers } = arrival
  const request = randomUUID()
  const send = (status: number, body: object, more: Record<string, string> = {}) =>
    reply.answer(status, JSON.stringify(body), {
      'request-id': request,
      'pdpp-version': version,
      ...more,
    })
  const fail = (status: number, code: string, message: string, more: JsonObject = {}) =>
    send(
      status,
      { error: { type: toType(status), code, message, request_id: request, ...more } },
      status === 401 ? toChallenge(headers.host, path) : {},
    )
  if (path.startsWith('/.well-known/')) return send(200, toMetadata(arrival))
  if (method !== 'GET') return fail(405, 'invalid_request', 'Only GET.')
  const door = findDoor(doors, arrival)
  const admitted = admitByGrant(door, arrival)
  if ('refusal' in admitted) {
    const [status, code] = refusalStatus[admitted.refusal]
    return fail(status, code, refusalWords[admitted.refusal])
  }
  const found = routes
    .map((route) => ({ route, names: route.path.exec(path) }))
    .find(({ names }) => names)
  if (!found) return fail(404, 'not_found', `Nothing is served at ${path}.`)
  const parameters = readParameters(arrival.query, found.route.parameters)
  if ('unknown' in parameters)
    return fail(400, 'invalid_request', `Unsupported query parameter: ${parameters.unknown}`)
  const reader = door.open(admitted.given)
  const answer = isFailed(reader)
    ? reader
    : await found.route.answer(reader, parameters, (found.names ?? []).slice(1).map(decodeName))
  if (!isFailed(answer)) return send(200, { ...answer, url: path })
  const { code, message, details } = answer.failure
  const [status, name] = statuses[code as ReadFailureCode]
  return fail(status, name, message, details)
}

/** The one that knows the token; who brings none is refused by any. */
function findDoor(doors: ReadonlyMap<string, Door>, arrival: Arrival): Door {
  const all = [...doors.values()]
  const known = all.find((door) => !('refusal' in admitByGrant(door, arrival)))
  return known ?? (all[0] as Door)
}

/** By failure: its status, and what the contract calls it. */
const statuses: Readonly<Record<ReadFailureCode, readonly [number, string]>> = {
  invalid_request: [400, 'invalid_request'],
  invalid_argument: [400, 'invalid_argument'],
  invalid_filter: [400, 'invalid_request'],
  invalid_sort: [400, 'invalid_sort'],
  invalid_expand: [400, 'invalid_expand'],
  invalid_cursor: [400, 'invalid_cursor'],
  cursor_expired: [410, 'cursor_expired'],
  unknown_field: [400, 'unknown_field'],
  unknown_stream: [403, 'grant_stream_not_allowed'],
  not_found: [404, 'not_found'],
  connection_not_found: [404, 'connection_not_found'],
  conflicting_connection_id: [400, 'invalid_argument'],
  ambiguous_connection: [409, 'ambiguous_connection'],
  ambiguous_schema_detail: [409, 'ambiguous_schema_detail'],
  timed_out: [503, 'timed_out'],
  owner_token_refused: [403, 'owner_token_refused'],
  grant_missing: [401, 'authentication_error'],
  grant_revoked: [403, 'grant_revoked'],
  grant_expired: [403, 'grant_expired'],
}

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  410: 'gone_error',
  429: 'rate_limit_error',
}

const toType = (status: number): string => types[status] ?? 'api_error'

const toList = (data: readonly JsonObject[]): JsonObject => ({
  object: 'list',
  data,
  has_more: false,
  meta: { count: { kind: 'exact', value: data.length }, warnings: [] },
})

const toConnectionData = ({ id, label }: { id: string; label?: string }): JsonObject => ({
  connection_id: id,
  ...(label !== undefined && { display_name: label }),
})

const toBearerData = ({ package: given }: Reader): JsonObject => ({
  token_kind: given.grants.length > 1 ? 'mcp_package' : 'client',
  grant_id: given.grants.length > 1 ? given.id : (given.grants[0]?.id ?? given.id),
  client_id: given.client,
})

function toMetadata({ headers, path }: Arrival): JsonObject {
  const origin = `http://${headers.host ?? 'localhost'}`
  const mount = path.slice('/.well-known/oauth-protected-resource'.length)
  return {
    resource: `${origin}${mount}`,
    bearer_methods_supported: ['header'],
    pdpp_core_query_base: `${origin}/v1`,
    pdpp_token_kinds_supported: ['client', 'mcp_package'],
    pdpp_discovery_hints: {
      schema_endpoint: `${origin}/v1/schema`,
      streams_endpoint: `${origin}/v1/streams`,
      search_endpoint: `${origin}/v1/search`,
      changes_since_bootstrap: 'beginning',
      filter_requires_single_stream: true,
    },
    capabilities: {
      lexical_retrieval: {
        supported: true,
        endpoint: `${origin}/v1/search`,
        default_limit: usualLimit,
        max_limit: 100,
        cursor_supported: true,
        snippets: true,
      },
      semantic_retrieval: { supported: false },
      hybrid_retrieval: { supported: false },
    },
  }
}

const pick = <T extends string>(known: readonly T[], word: string | undefined): T | undefined =>
  known.find((one) => one === word)

function decodeName(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
