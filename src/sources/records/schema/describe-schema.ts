import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { cannotRead } from '../failures.ts'
import type { Scope } from '../model/scope.ts'
import type { Connection } from '../model/stream.ts'
import { ambiguousConnection, unknownConnection, unknownStream } from '../reading/find-scope.ts'
import type { Reader } from '../reading/reader.ts'
import {
  featureLegend,
  quoteName,
  type StreamFeatures,
  toFeatureLines,
  toStreamFeatures,
} from './stream-features.ts'

export interface SchemaQuery {
  readonly stream?: string | undefined
  readonly connection?: string | undefined
  readonly detail?: 'compact' | 'full' | undefined
}

export interface SchemaDescription {
  readonly data: JsonObject
  readonly text: string
}

/** Streams described one by one; above this, only their names are listed. */
const maxRows = 50
const maxConnections = 300
const maxSchemaLength = 20_000

export function describeSchema(
  reader: Pick<Reader, 'scopes'>,
  query: SchemaQuery,
): SchemaDescription | Failed {
  const scopes = findScopes(reader, query)
  if (isFailed(scopes)) return scopes
  if (query.stream === undefined) return toIndex(scopes)
  const [scope] = scopes
  return query.detail === 'full' && scope ? toFull(reader, scope) : toScoped(reader, scopes)
}

/** The scopes selected by a schema query. */
export function findScopes(
  reader: Pick<Reader, 'scopes'>,
  query: SchemaQuery,
): readonly Scope[] | Failed {
  const { stream, connection, detail } = query
  if (detail === 'full' && stream === undefined)
    return cannotRead(
      'invalid_request',
      'detail "full" needs a stream. Call schema without arguments first, then schema(stream, connection_id, detail: "full").',
    )
  if (
    connection !== undefined &&
    !reader.scopes.some(({ source }) => source.connection.id === connection)
  )
    return unknownConnection(reader)
  const scopes = reader.scopes.filter(
    ({ source }) =>
      (connection ?? source.connection.id) === source.connection.id &&
      (stream ?? source.stream.name) === source.stream.name,
  )
  if (stream !== undefined && scopes.length === 0) return unknownStream(reader, stream)
  return detail === 'full' && scopes.length > 1
    ? ambiguousConnection(scopes, 'ambiguous_schema_detail')
    : scopes
}

interface Connector {
  readonly key: string
  readonly connections: readonly Connection[]
  readonly streams: ReadonlyMap<string, readonly Scope[]>
}

/** The index of all connectors, connections and streams. Fields are described per stream. */
function toIndex(scopes: readonly Scope[]): SchemaDescription {
  const connectors = groupByConnector(scopes)
  const streamCount = connectors.reduce((sum, { streams }) => sum + streams.size, 0)
  const connectionCount = connectors.reduce((sum, one) => sum + one.connections.length, 0)
  const isShort = scopes.length <= maxRows
  const counts = {
    connector_count: connectors.length,
    connection_count: connectionCount,
    stream_count: streamCount,
  }
  let [roomForRows, roomForConnections] = [maxRows, maxConnections]
  const data: JsonObject = {
    object: 'schema',
    detail: 'compact',
    ...counts,
    connectors: connectors.slice(0, maxRows).map(({ key, connections, streams }) => {
      const listedStreams = [...streams].slice(0, roomForRows)
      roomForRows -= listedStreams.length
      const listedConnections = connections.slice(0, Math.min(12, roomForConnections))
      return {
        connector_key: key,
        connection_count: connections.length,
        connections: listedConnections.map(toConnectionData),
        stream_count: streams.size,
        streams: listedStreams.map(([name, rows]) => ({
          name,
          connection_count: rows.length,
          field_count: rows[0]?.fields.size ?? 0,
        })),
      }
    }),
    truncated: streamCount > maxRows ? 'The text lists every stream name.' : undefined,
  }
  const lines = connectors.flatMap(({ key, connections, streams }) => {
    const listedConnections = connections.slice(0, roomForConnections)
    roomForConnections -= listedConnections.length
    const omittedCount = connections.length - listedConnections.length
    const suffix =
      omittedCount > 0
        ? `, and ${omittedCount} more: schema with a stream lists those that have it`
        : ''
    return [
      `connector_key ${quoteName(key)}: ${listedConnections.map(toConnectionText).join(', ')}${suffix}`,
      ...(isShort
        ? [...streams].map(([name, rows]) => toIndexRow(name, rows, connections))
        : [`  streams: ${[...streams.keys()].map(quoteName).join(' | ')}`]),
    ]
  })
  const text = [
    `${plural(connectors.length, 'connector')}, ${plural(connectionCount, 'connection')}, ${plural(streamCount, 'stream')}.`,
    ...lines,
    'Next: schema with stream (and connection_id) for its fields and operations.',
  ].join('\n')
  return { data, text }
}

function toIndexRow(
  name: string,
  rows: readonly Scope[],
  connections: readonly Connection[],
): string {
  const [first] = rows
  const where =
    rows.length === connections.length
      ? ''
      : ` (only in ${rows.map(({ source }) => quoteName(source.connection.id)).join(', ')})`
  return `  stream ${quoteName(name)}: ${plural(first?.fields.size ?? 0, 'field')}${where}`
}

/** Describes one stream. Connections with the same features share one entry. */
function toScoped(reader: Pick<Reader, 'scopes'>, scopes: readonly Scope[]): SchemaDescription {
  const groups = new Map<string, { features: StreamFeatures; scopes: Scope[] }>()
  for (const scope of scopes) {
    const features = toStreamFeatures(reader, scope)
    const key = JSON.stringify([scope.source.connection.connector, features])
    const group = groups.get(key)
    if (group) group.scopes.push(scope)
    else groups.set(key, { features, scopes: [scope] })
  }
  const rows = [...groups.values()]
  const data: JsonObject = {
    object: 'schema',
    detail: 'compact',
    connectors: rows.map(({ features, scopes: members }) => ({
      connector_key: members[0]?.source.connection.connector ?? '',
      connections: members
        .slice(0, maxConnections)
        .map(({ source }) => toConnectionData(source.connection)),
      streams: [features],
    })),
  }
  const text = [
    ...rows.flatMap(({ features, scopes: members }) => [
      `stream ${quoteName(features.name)} connector_key ${quoteName(members[0]?.source.connection.connector ?? '')}, ${members
        .slice(0, maxConnections)
        .map(({ source }) => toConnectionText(source.connection))
        .join(
          ', ',
        )}${members.length > maxConnections ? `, and ${members.length - maxConnections} more` : ''}`,
      ...toFeatureLines(features),
    ]),
    `Legend: ${featureLegend}`,
    ...(isPackage(reader) ? ['There are several connections: pass connection_id in reads.'] : []),
  ].join('\n')
  return { data, text }
}

/** Reads then need a connection, also those of a stream that only one of them has. */
const isPackage = ({ scopes }: Pick<Reader, 'scopes'>): boolean =>
  new Set(scopes.map(({ source }) => source.connection.id)).size > 1

/** The JSON Schema of one stream, restricted to the granted fields. */
function toFull(reader: Pick<Reader, 'scopes'>, scope: Scope): SchemaDescription {
  const { source, fields } = scope
  const schemas = [...fields.values()].map(({ name, schema }) => [name, schema] as const)
  const { boundedSchemas, shortenedNames } = toBounded(schemas)
  const schema: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(boundedSchemas),
    required: listRequired(scope),
  }
  const { text } = toScoped(reader, [scope])
  const data: JsonObject = {
    object: 'schema',
    detail: 'full',
    connectors: [
      {
        connector_key: source.connection.connector,
        connections: [toConnectionData(source.connection)],
        streams: [{ name: source.stream.name, schema, abilities: toStreamFeatures(reader, scope) }],
      },
    ],
  }
  const note =
    shortenedNames.length > 0
      ? [`Shortened because of their length: ${shortenedNames.map(quoteName).join(', ')}.`]
      : []
  return { data, text: [text, `JSON Schema: ${JSON.stringify(schema)}`, ...note].join('\n') }
}

/** The granted fields that the schema requires; `undefined` if it does not say. */
export function listRequired({ source, fields }: Scope): readonly string[] | undefined {
  const { required } = source.stream.schema
  return Array.isArray(required)
    ? required.filter((name) => typeof name === 'string' && fields.has(name))
    : undefined
}

/** Reduces the longest field schemas to their type, until all of them fit into one answer. */
function toBounded(schemas: readonly (readonly [string, JsonObject])[]): {
  readonly boundedSchemas: readonly (readonly [string, JsonObject])[]
  readonly shortenedNames: readonly string[]
} {
  const sizes = schemas.map(([name, schema]) => ({ name, size: JSON.stringify(schema).length }))
  let total = sizes.reduce((sum, { name, size }) => sum + name.length + size + 4, 0)
  const shortenedNames = new Set<string>()
  for (const { name, size } of sizes.sort((a, b) => b.size - a.size)) {
    if (total <= maxSchemaLength) break
    shortenedNames.add(name)
    total -= Math.max(0, size - 20)
  }
  return {
    boundedSchemas: schemas.map(([name, schema]) =>
      shortenedNames.has(name)
        ? [name, schema.type === undefined ? {} : { type: schema.type }]
        : [name, schema],
    ),
    shortenedNames: [...shortenedNames],
  }
}

export function groupByConnector(scopes: readonly Scope[]): readonly Connector[] {
  const byKey = new Map<
    string,
    { connections: Map<string, Connection>; streams: Map<string, Scope[]> }
  >()
  for (const scope of scopes) {
    const { connection, stream } = scope.source
    const connector = byKey.get(connection.connector) ?? {
      connections: new Map(),
      streams: new Map(),
    }
    byKey.set(connection.connector, connector)
    connector.connections.set(connection.id, connection)
    const rows = connector.streams.get(stream.name)
    if (rows) rows.push(scope)
    else connector.streams.set(stream.name, [scope])
  }
  return [...byKey].map(([key, { connections, streams }]) => ({
    key,
    connections: [...connections.values()],
    streams,
  }))
}

export const toConnectionData = ({ id, label }: Connection): JsonObject => ({
  connection_id: id,
  display_name: label,
})

export const toConnectionText = ({ id, label }: Connection): string =>
  `connection_id ${quoteName(id)}${label === undefined ? '' : ` (${JSON.stringify(label)})`}`

const plural = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? '' : 's'}`
