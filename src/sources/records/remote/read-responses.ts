import type { Json, JsonObject } from '../../../capability/json.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Aggregation, Group } from '../aggregate/aggregate-records.ts'
import type { SearchResult } from '../answers/search-answer.ts'
import { blobField } from '../fetch/find-blob.ts'
import { toRecordId } from '../model/record-id.ts'
import type { Scope } from '../model/scope.ts'
import type { Field } from '../model/stream.ts'
import type { RecordPage, ServedRecord, Warning } from '../query/record-page.ts'
import { toObjects } from './read-scopes.ts'
import type { RemoteServer } from './remote-server.ts'

/** `undefined` when the response is not a page of records. */
export function readPage(
  scope: Scope,
  fields: readonly Field[],
  body: JsonObject,
): RecordPage | undefined {
  if (!Array.isArray(body.data)) return undefined
  const records = body.data.map((row) =>
    isPlainObject(row) ? readRecord(scope, fields, row) : undefined,
  )
  if (!records.every((record) => record !== undefined)) return undefined
  const count =
    isPlainObject(body.meta) && isPlainObject(body.meta.count) ? body.meta.count.value : undefined
  return {
    scope,
    fields,
    records,
    keys: [],
    hasMore: body.has_more === true,
    nextCursor: toText(body.next_cursor),
    nextChangesSince: toText(body.next_changes_since),
    count: typeof count === 'number' ? count : undefined,
    warnings: readWarnings(body),
  }
}

/** Keeps the requested fields only, and none of the contract's deprecated names. */
export function readRecord(
  { source: { connection, stream } }: Scope,
  fields: readonly Field[],
  row: Readonly<Record<string, unknown>>,
): ServedRecord | undefined {
  const { id, emitted_at, deleted, deleted_at, data, expanded } = row
  if (typeof id !== 'string') return undefined
  const recordData = isPlainObject(data) ? data : undefined
  const presentFields = fields.filter(({ name }) => recordData && Object.hasOwn(recordData, name))
  return {
    object: 'record',
    id,
    stream: stream.name,
    connection_id: connection.id,
    display_name: connection.label,
    emitted_at: String(emitted_at ?? deleted_at ?? ''),
    ...(deleted === true && { deleted, deleted_at: String(deleted_at ?? '') }),
    data:
      recordData &&
      Object.fromEntries(
        presentFields.map(({ name }) => [name, withoutFetchUrl(name, recordData[name])]),
      ),
    expanded: isPlainObject(expanded) ? (expanded as JsonObject) : undefined,
  }
}

/** Removes the remote blob URL: clients here do not have the server's token. */
function withoutFetchUrl(name: string, value: unknown): Json {
  if (name !== blobField || !isPlainObject(value)) return value as Json
  const { fetch_url, ...blob } = value
  return blob as JsonObject
}

export function readAggregation(body: JsonObject): Omit<Aggregation, 'scope' | 'query'> {
  const filteredRecordCount = Number(body.filtered_record_count ?? 0)
  if (!Array.isArray(body.groups)) return { filteredRecordCount, value: body.value ?? null }
  const groups = toObjects(body.groups).map(
    ({ key, count, value }): Group => ({
      key: (key ?? null) as Json,
      count: Number(count),
      value: (value ?? count ?? null) as Json,
    }),
  )
  const groupedCount = groups.reduce((sum, { count }) => sum + count, 0)
  return {
    filteredRecordCount,
    groups,
    groupCount: Number(body.group_count ?? groups.length),
    otherCount: Number(body.other_count ?? filteredRecordCount - groupedCount),
  }
}

export function readHit(
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
  const { connection } = scope.source
  const time = String(hit.authored_at ?? hit.emitted_at ?? key)
  const owner = connection.label ?? connection.connector
  const snippet = isPlainObject(hit.snippet) ? hit.snippet.text : hit.snippet
  return {
    id: toRecordId(connection.id, stream, key),
    title:
      typeof hit.title === 'string'
        ? hit.title
        : [owner, scope.source.stream.title ?? stream, time].join(' / '),
    url: toHitUrl(server, hit, [stream, key, connection.id]),
    stream,
    record_id: key,
    connection_id: connection.id,
    connector_key: connection.connector,
    display_name: connection.label,
    emitted_at: toText(hit.emitted_at),
    authored_at: toText(hit.authored_at),
    matched_fields: Array.isArray(hit.matched_fields) ? hit.matched_fields : [],
    snippet: typeof snippet === 'string' ? snippet : '',
    score: hit.score as Json | undefined,
  }
}

function toHitUrl(
  { address }: RemoteServer,
  { url }: Readonly<Record<string, unknown>>,
  [stream, key, connection]: readonly [string, string, string],
): string {
  if (typeof url === 'string' && /^https?:\/\/[^\s<>"]+$/.test(url)) return url
  const [name, id, connectionId] = [stream, key, connection].map(encodeURIComponent)
  return `${address}/v1/streams/${name}/records/${id}?connection_id=${connectionId}`
}

export const toText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined

export function readWarnings({ meta }: JsonObject): readonly Warning[] {
  return toObjects(isPlainObject(meta) ? meta.warnings : undefined).flatMap(({ code, message }) =>
    typeof code === 'string' && typeof message === 'string'
      ? [{ code, message: message.slice(0, 500) }]
      : [],
  )
}
