import type { JsonObject } from '../../capability/json.ts'
import { isFailed } from '../../capability/outcome.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { mergePages } from '../../sources/records/answers/merge-pages.ts'
import { toListEnvelope } from '../../sources/records/answers/page-answer.ts'
import { noRecord, unreadableRecord } from '../../sources/records/fetch/fetch-document.ts'
import { blobField, findBlob } from '../../sources/records/fetch/find-blob.ts'
import type { Scope } from '../../sources/records/model/scope.ts'
import { expandPage, toExpansions } from '../../sources/records/query/expand.ts'
import { queryRecords } from '../../sources/records/query/query-records.ts'
import {
  type RecordPage,
  type RecordsQuery,
  toRecord,
} from '../../sources/records/query/record-page.ts'
import { ambiguousConnection, findAllScopes } from '../../sources/records/reading/find-scope.ts'
import { toFields } from '../../sources/records/reading/project-fields.ts'
import { recordDisclosure } from '../../sources/records/reading/record-disclosure.ts'
import { fromServedKey } from '../../sources/records/reading/record-key.ts'
import { needsConnection, pick, type ReadRoute, toClampWarnings, toLimit } from './read-route.ts'
import type { QueryParameters } from './records-parameters.ts'

const orders = ['asc', 'desc'] as const
const counts = ['none', 'estimated', 'exact'] as const

/** Pages of records, single records, and their blobs. */
export const streamRoutes: readonly ReadRoute[] = [
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
    allowedValues: { order: orders, count: counts },
    async read(reader, parameters, [stream = '']) {
      const { one, warnings } = parameters
      const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const position = ['changes_since', 'cursor'].find((name) => one(name) !== undefined)
      if (position !== undefined && scopes.length > 1)
        return needsConnection(scopes, `${position} works on a single connection`)
      const pages: RecordPage[] = []
      for (const scope of scopes) {
        const page = await queryRecords(reader, toRecordsQuery(scope, parameters))
        if (isFailed(page)) return page
        recordDisclosure(reader, page.scope, {
          tool: 'v1/records',
          fields: page.fields,
          records: page.keys,
        })
        pages.push({ ...page, records: page.records.map(withBlobUrl) as RecordPage['records'] })
      }
      const merged = mergePages(pages as [RecordPage, ...RecordPage[]])
      return toListEnvelope({
        ...merged,
        warnings: [...warnings, ...toClampWarnings(one('limit')), ...merged.warnings],
      })
    },
  },
  {
    path: /^\/v1\/streams\/([^/]+)\/records\/([^/]+)$/,
    tool: 'fetch',
    parameters: ['fields', 'expand', 'expand_limit'],
    async read(reader, { one, many, limits }, [stream = '', servedKey = '']) {
      const scopes = findAllScopes(reader, { stream, connection: one('connection_id') })
      if (isFailed(scopes)) return scopes
      const matches = scopes.flatMap((scope) => {
        const key = fromServedKey(scope, servedKey)
        const row = key === undefined ? undefined : reader.store.find(scope, key)
        return row ? [{ scope, row }] : []
      })
      const [match, ...others] = matches
      if (others.length > 0) return ambiguousConnection(matches.map(({ scope }) => scope))
      if (!match) return noRecord()
      const { scope, row } = match
      if (row.isUnreadable) return unreadableRecord(scope, row)
      const fields = toFields(scope, { fields: many('fields') })
      if (isFailed(fields)) return fields
      const expansions = toExpansions(reader, scope, {
        expand: many('expand'),
        expandLimit: limits,
      })
      if (isFailed(expansions)) return expansions
      recordDisclosure(reader, scope, { tool: 'v1/record', fields, records: [row.key] })
      const record = {
        ...toRecord(scope, fields, row),
        connector_key: scope.source.connection.connector,
      }
      const expandedRecords = await expandPage(reader, scope, [row], [record], expansions)
      return isFailed(expandedRecords) ? expandedRecords : withBlobUrl(expandedRecords[0] ?? record)
    },
  },
  {
    path: /^\/v1\/blobs\/([^/]+)$/,
    tool: 'fetch',
    parameters: [],
    read(reader, { one }, [id = '']) {
      const match = findBlob(reader, id, one('connection_id'))
      if (isFailed(match)) return match
      const { scope, key, blob } = match
      const field = scope.fields.get(blobField)
      recordDisclosure(reader, scope, {
        tool: 'v1/blob',
        fields: field ? [field] : [],
        records: [key],
      })
      return { object: 'blob', blob_id: id, size_bytes: blob.bytes.length }
    },
  },
]

function toRecordsQuery(scope: Scope, parameters: QueryParameters): RecordsQuery {
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

/** Adds the address of a record's blob. */
function withBlobUrl<T extends JsonObject>(record: T): T {
  const { data } = record
  const blob = isPlainObject(data) ? data[blobField] : undefined
  if (!isPlainObject(blob) || typeof blob.blob_id !== 'string') return record
  const [blobId, connectionId] = [blob.blob_id, String(record.connection_id)].map(
    encodeURIComponent,
  )
  const fetch_url = `/v1/blobs/${blobId}?connection_id=${connectionId}`
  return { ...record, data: { ...(data as object), [blobField]: { ...blob, fetch_url } } }
}
