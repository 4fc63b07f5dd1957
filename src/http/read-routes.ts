import { isPlainObject, type JsonObject } from '../capability/json.ts'
import type { Failed } from '../capability/outcome.ts'
import {
  type AggregateQuery,
  type Aggregation,
  aggregateRecords,
  countRecords,
  metrics,
} from '../sources/records/aggregate-records.ts'
import {
  noteHits,
  toAggregationData,
  toEnvelope,
  toSearchEnvelope,
} from '../sources/records/answers.ts'
import { findScopes, toConnectionData } from '../sources/records/describe-schema.ts'
import { expandPage, toExpansions } from '../sources/records/expand.ts'
import { cannotRead } from '../sources/records/failures.ts'
import { canMerge, mergeAggregations, mergePages, mostGroups } from '../sources/records/fan-in.ts'
import { noRecord } from '../sources/records/fetch-document.ts'
import { blobField, findBlob } from '../sources/records/find-blob.ts'
import { ambiguous, findAllScopes, findScope } from '../sources/records/find-scope.ts'
import { findLastUpdated } from '../sources/records/last-updated.ts'
import { note } from '../sources/records/note.ts'
import { toFields } from '../sources/records/project.ts'
import {
  mostRecords,
  queryRecords,
  type RecordPage,
  type RecordsQuery,
  toRecord,
  usualLimit,
  type Warning,
} from '../sources/records/query-records.ts'
import { isFailed, type Reader } from '../sources/records/reader.ts'
import { toSchemaDocument, toStreamDocument } from '../sources/records/schema-document.ts'
import type { Scope } from '../sources/records/scope.ts'
import { searchRecords } from '../sources/records/search-records.ts'
import { granularities } from '../sources/records/time-buckets.ts'
import type { Parameters } from './records-parameters.ts'

export interface ReadRoute {
  readonly path: RegExp
  /** The tool it amounts to: what is enforced on that one is enforced here. */
  readonly tool: 'schema' | 'query_records' | 'aggregate' | 'search' | 'fetch'
  /** Everything it understands; anything else is an error. */
  readonly parameters: readonly string[]
  /** Of parameters that are one of some words, which. */
  readonly words?: Readonly<Record<string, readonly string[]>>
  read(
    reader: Reader,
    parameters: Parameters,
    names: readonly string[],
  ): Promise<JsonObject | Failed> | JsonObject | Failed
}

const orders = ['asc', 'desc'] as const
const counts = ['none', 'estimated', 'exact'] as const

/** The read contract, route by route. */
export const readRoutes: readonly ReadRoute[] = [
  {
    path: /^\/v1\/schema$/,
    tool: 'schema',
    parameters: ['view', 'stream', 'detail'],
    words: { view: ['compact', 'full'], detail: ['compact', 'full'] },
    read(reader, { one, warnings }) {
      const asked = [one('view'), one('detail')]
      const document = toSchemaDocument(reader, {
        stream: one('stream'),
        connection: one('connection_id'),
        detail: one('detail') === 'full' ? 'full' : undefined,
        isCompact: asked.includes('compact') && one('detail') !== 'full',
      })
      if (isFailed(document)) return document
      return { ...document, bearer: toBearerData(reader), meta: { warnings } }
    },
  },
  {
    path: /^\/v1\/streams$/,
    tool: 'schema',
    parameters: [],
    async read(reader, { one, warnings }) {
      const scopes = findScopes(reader, { connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const rows: JsonObject[] = []
      for (const scope of scopes) {
        const { connection: here, stream } = scope.source
        const count = await countRecords(reader, scope, [])
        const captured = await findLastUpdated(reader, scope)
        if (typeof captured === 'object' && captured !== null) return captured
        rows.push({
          object: 'stream',
          name: stream.name,
          connector_key: here.connector,
          ...toConnectionData(here),
          record_count: typeof count === 'number' ? count : null,
          last_updated: captured,
          freshness: { status: captured === null ? 'unknown' : 'current', captured_at: captured },
        })
      }
      return toList(rows, warnings)
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)$/,
    tool: 'schema',
    parameters: [],
    read(reader, { one }, [stream = '']) {
      const scope = findScope(reader, { stream, connection: one('connection_id') })
      if (isFailed(scope)) return scope
      const { connection } = scope.source
      return {
        ...toStreamDocument(reader, scope),
        object: 'stream_metadata',
        connector_key: connection.connector,
        ...toConnectionData(connection),
      }
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/records$/,
    tool: 'query_records',
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
    words: { order: orders, count: counts },
    async read(reader, parameters, [stream = '']) {
      const { one, warnings } = parameters
      const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const bound = ['changes_since', 'cursor'].find((name) => one(name) !== undefined)
      if (bound !== undefined && scopes.length > 1)
        return needsConnection(scopes, `${bound} is about one connection`)
      const pages: RecordPage[] = []
      for (const scope of scopes) {
        const page = await queryRecords(reader, toRecordsQuery(scope, parameters))
        if (isFailed(page)) return page
        note(reader, page.scope, {
          tool: 'v1/records',
          fields: page.fields,
          records: page.records.map(({ id }) => id),
        })
        pages.push({ ...page, records: page.records.map(withBlobUrl) as RecordPage['records'] })
      }
      const merged = mergePages(pages as [RecordPage, ...RecordPage[]])
      const told = [...warnings, ...toClamped(one('limit')), ...merged.warnings]
      return toEnvelope({ ...merged, warnings: told })
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/records\/([^/]+)$/,
    tool: 'fetch',
    parameters: ['fields', 'expand', 'expand_limit'],
    async read(reader, { one, many, limits }, [stream = '', key = '']) {
      const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const holding = scopes.filter((scope) => reader.store.find(scope, key))
      const [scope, ...others] = holding
      if (others.length > 0) return ambiguous(holding)
      const row = scope && reader.store.find(scope, key)
      if (!row) return noRecord()
      const fields = toFields(scope, { fields: many('fields') })
      if (isFailed(fields)) return fields
      const expansions = toExpansions(reader, scope, {
        expand: many('expand'),
        expandLimit: limits,
      })
      if (isFailed(expansions)) return expansions
      note(reader, scope, { tool: 'v1/record', fields, records: [key] })
      const record = {
        ...toRecord(scope, fields, row),
        connector_key: scope.source.connection.connector,
      }
      const expanded = await expandPage(reader, scope, [row], [record], expansions)
      return 'kind' in expanded ? expanded : withBlobUrl(expanded[0] ?? record)
    },
  },
  {
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
    words: { granularity: granularities },
    async read(reader, parameters, [stream = '']) {
      const { one, filter } = parameters
      const query = toAggregateQuery(parameters, stream)
      if (isFailed(query)) return query
      const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const isMerged = scopes.length > 1
      if (isMerged && !canMerge(query.metric))
        return needsConnection(scopes, `${query.metric} cannot be added up over connections`)
      const answers: Aggregation[] = []
      for (const scope of scopes) {
        const answer = await aggregateRecords(reader, {
          ...query,
          connection: scope.source.connection.id,
          filter: filter(scope),
          ...(isMerged && { limit: mostGroups }),
        })
        if (isFailed(answer)) return answer
        note(reader, answer.scope, { tool: 'v1/aggregate', fields: [], records: [] })
        answers.push(answer)
      }
      const [first] = answers
      if (first && !isMerged) return toAggregationData(first)
      const merged = mergeAggregations(
        answers as [Aggregation, ...Aggregation[]],
        query.limit ?? 10,
      )
      const { connection_id, ...data } = toAggregationData(merged)
      return { ...data, approximate: merged.approximate }
    },
  },
  {
    path: /^\/v1\/search$/,
    tool: 'search',
    parameters: ['q', 'streams', 'streams[]', 'limit', 'cursor', 'filter'],
    async read(reader, { one, many, filter, warnings }) {
      const streams = many('streams') ?? many('streams[]')
      const [stream] = streams ?? []
      const page = await searchRecords(reader, {
        q: one('q') ?? '',
        streams,
        connection: one('connection_id'),
        limit: toLimit(one('limit')),
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
      return toSearchEnvelope(page, [...warnings, ...toClamped(one('limit'))])
    },
  },
  {
    path: /^\/v1\/blobs\/([^/]+)$/,
    tool: 'fetch',
    parameters: [],
    read(reader, { one }, [id = '']) {
      const found = findBlob(reader, id, one('connection_id'))
      if (isFailed(found)) return found
      const { scope, key, blob } = found
      const field = scope.fields.get(blobField)
      note(reader, scope, { tool: 'v1/blob', fields: field ? [field] : [], records: [key] })
      return { object: 'blob', blob_id: id, size_bytes: blob.bytes.length }
    },
  },
]

function toRecordsQuery(scope: Scope, parameters: Parameters): RecordsQuery {
  const { one, many, filter, limits } = parameters
  return {
    stream: scope.source.stream.name,
    connection: scope.source.connection.id,
    limit: toLimit(one('limit')),
    cursor: one('cursor'),
    sort: one('sort'),
    order: pick(orders, one('order')),
    count: pick(counts, one('count')),
    fields: many('fields'),
    view: one('view'),
    filter: filter(scope),
    expand: many('expand'),
    expandLimit: limits,
    changesSince: one('changes_since'),
  }
}

function toAggregateQuery({ one }: Parameters, stream: string): AggregateQuery | Failed {
  const metric = pick(metrics, one('metric'))
  const limit = one('limit')
  if (!metric) return cannotRead('invalid_request', `metric must be one of ${metrics.join(', ')}.`)
  if (limit !== undefined && !(Number(limit) >= 1 && Number(limit) <= 100))
    return cannotRead('invalid_request', 'limit must be from 1 to 100.')
  return {
    stream,
    metric,
    field: one('field'),
    groupBy: one('group_by'),
    groupByTime: one('group_by_time'),
    granularity: pick(granularities, one('granularity')),
    timeZone: one('time_zone'),
    ...(limit !== undefined && { limit: Number(limit) }),
  }
}

/** What is no number, or none that means anything, is as if it were not there. */
function toLimit(text: string | undefined): number {
  const asked = Number(text ?? usualLimit)
  return Number.isInteger(asked) && asked > 0 ? Math.min(asked, mostRecords) : usualLimit
}

const toClamped = (limit: string | undefined): readonly Warning[] =>
  Number(limit) > mostRecords
    ? [
        {
          code: 'limit_clamped',
          param: 'limit',
          message: `limit was set to ${mostRecords}.`,
          detail: { requested_limit: Number(limit), max_limit: mostRecords },
        },
      ]
    : []

function needsConnection(scopes: readonly Scope[], why: string): Failed {
  const { failure } = ambiguous(scopes)
  return cannotRead('invalid_argument', `${why}: say which one, with connection_id.`, {
    details: failure.details ?? {},
  })
}

/** Where the bytes are that a record names. */
function withBlobUrl<T extends JsonObject>(record: T): T {
  const { data } = record
  const named = isPlainObject(data) ? data[blobField] : undefined
  if (!isPlainObject(named) || typeof named.blob_id !== 'string') return record
  const fetch_url = `/v1/blobs/${encodeURIComponent(named.blob_id)}`
  return { ...record, data: { ...(data as object), [blobField]: { ...named, fetch_url } } }
}

const toList = (data: readonly JsonObject[], warnings: readonly Warning[]): JsonObject => ({
  object: 'list',
  data,
  has_more: false,
  meta: { count: { kind: 'exact', value: data.length }, warnings },
})

const toBearerData = ({ package: given }: Reader): JsonObject => ({
  token_kind: given.grants.length > 1 ? 'mcp_package' : 'client',
  scope: 'grant',
  grant_id: given.grants.length > 1 ? given.id : (given.grants[0]?.id ?? given.id),
  client_id: given.client,
})

const pick = <T extends string>(known: readonly T[], word: string | undefined): T | undefined =>
  known.find((one) => one === word)
