import type { JsonObject } from '../../capability/json.ts'
import { isFailed } from '../../capability/outcome.ts'
import { countRecords } from '../../sources/records/aggregate/aggregate-records.ts'
import type { Warning } from '../../sources/records/query/record-page.ts'
import { findScope } from '../../sources/records/reading/find-scope.ts'
import { findLastUpdated } from '../../sources/records/reading/last-updated.ts'
import type { Reader } from '../../sources/records/reading/reader.ts'
import { findScopes, toConnectionData } from '../../sources/records/schema/describe-schema.ts'
import { toSchemaDocument, toStreamDocument } from '../../sources/records/schema/schema-document.ts'
import type { ReadRoute } from './read-route.ts'

/** The schema of everything that a grant can read. */
export const schemaRoutes: readonly ReadRoute[] = [
  {
    path: /^\/v1\/schema$/,
    tool: 'schema',
    parameters: ['view', 'stream', 'detail'],
    allowedValues: { view: ['compact', 'full'], detail: ['compact', 'full'] },
    read(reader, { one, warnings }) {
      const isFull = one('detail') === 'full'
      const isCompact = one('view') === 'compact' || one('detail') === 'compact'
      const document = toSchemaDocument(reader, {
        stream: one('stream'),
        connection: one('connection_id'),
        detail: isFull ? 'full' : undefined,
        isCompact: isCompact && !isFull,
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
        const { connection, stream } = scope.source
        const count = await countRecords(reader, scope, [])
        const lastUpdated = await findLastUpdated(reader, scope)
        if (isFailed(lastUpdated)) return lastUpdated
        rows.push({
          object: 'stream',
          name: stream.name,
          connector_key: connection.connector,
          ...toConnectionData(connection),
          record_count: typeof count === 'number' ? count : null,
          last_updated: lastUpdated,
          freshness: {
            status: lastUpdated === null ? 'unknown' : 'current',
            captured_at: lastUpdated,
          },
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
]

const toList = (data: readonly JsonObject[], warnings: readonly Warning[]): JsonObject => ({
  object: 'list',
  data,
  has_more: false,
  meta: { count: { kind: 'exact', value: data.length }, warnings },
})

const toBearerData = ({ package: { id, grants, client } }: Reader): JsonObject => ({
  token_kind: grants.length > 1 ? 'mcp_package' : 'client',
  scope: 'grant',
  grant_id: grants.length > 1 ? id : (grants[0]?.id ?? id),
  client_id: client,
})
