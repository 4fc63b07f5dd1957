import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import type { Scope } from '../model/scope.ts'
import {
  aggregateUses,
  type Connection,
  type Field,
  isScalar,
  rangeOperators,
} from '../model/stream.ts'
import { findRelations } from '../query/expand.ts'
import { findView } from '../reading/project-fields.ts'
import type { Reader } from '../reading/reader.ts'
import {
  findScopes,
  groupByConnector,
  listRequired,
  type SchemaQuery,
  toConnectionData,
} from './describe-schema.ts'

export interface DocumentQuery extends SchemaQuery {
  /** Abbreviates field capabilities to flags. */
  readonly isCompact: boolean
}

/** The machine-readable schema of the read contract, full or compact. */
export function toSchemaDocument(reader: Reader, query: DocumentQuery): JsonObject | Failed {
  const scopes = findScopes(reader, query)
  if (isFailed(scopes)) return scopes
  const grants = new Map(scopes.map(({ grant, source }) => [source.connection.id, grant]))
  const toGranted = (connection: Connection) => ({
    ...toConnectionData(connection),
    grant_id: grants.get(connection.id) ?? '',
  })
  const connectors = groupByConnector(scopes).map(({ key, connections, streams }) => ({
    object: 'connector',
    source: { kind: 'connector', id: key },
    connector_key: key,
    connector_id: key,
    stream_count: streams.size,
    granted_connections: connections.map(toGranted),
    streams: [...streams.values()].flatMap((rows) =>
      toVariants(rows).map((members) => {
        const [first] = members as readonly [Scope, ...Scope[]]
        return {
          ...(query.isCompact ? toCompactStream(reader, first) : toStreamDocument(reader, first)),
          // Streams present in every connection inherit the connector's list.
          granted_connections:
            members.length < connections.length
              ? members.map(({ source }) => toGranted(source.connection))
              : undefined,
        }
      }),
    ),
  }))
  return {
    object: 'schema',
    ...(query.isCompact && { detail: 'compact', field_capability_legend: flagLegend }),
    ...(query.detail === 'full' && { detail: 'full' }),
    connectors,
    connector_count: connectors.length,
    stream_count: connectors.reduce((sum, { stream_count }) => sum + stream_count, 0),
  }
}

const flagLegend =
  't=type; eq=exact filter; r=range operators; lex=lexical search; a=aggregations; everything listed is granted'

/** Groups by granted fields: the same stream can be granted with other fields in another connection. */
function toVariants(rows: readonly Scope[]): readonly (readonly Scope[])[] {
  const byFields = new Map<string, Scope[]>()
  for (const scope of rows) {
    const key = [...scope.fields.keys()].join('\n')
    byFields.set(key, [...(byFields.get(key) ?? []), scope])
  }
  return [...byFields.values()]
}

/** Omits keys and times that are not granted: their names alone would disclose something. */
function toHead({ source: { stream }, fields }: Scope): JsonObject {
  const isGranted = (name: string | undefined) => name !== undefined && fields.has(name)
  return {
    object: 'stream',
    name: stream.name,
    title: stream.title,
    primary_key: stream.primaryKey.every(isGranted) ? stream.primaryKey : undefined,
    record_ids: stream.primaryKey.every(isGranted) ? undefined : 'opaque',
    cursor_field: isGranted(stream.cursorField) ? stream.cursorField : undefined,
    consent_time_field: isGranted(stream.consentTimeField) ? stream.consentTimeField : undefined,
  }
}

function toCompactStream(reader: Reader, scope: Scope): JsonObject {
  const views = toViews(scope)
  const relations = findRelations(reader, scope).map(({ relation }) => relation.name)
  return {
    ...toHead(scope),
    field_capabilities: byName(scope, toFlags),
    views: views.length > 0 ? views.map(({ name }) => name) : undefined,
    expand: relations.length > 0 ? relations : undefined,
  }
}

function toFlags({ schema, type, range, lexical, aggregates, ...field }: Field): string {
  return [
    `t=${type === 'other' ? String(schema.type ?? 'any') : type}`,
    ...(isScalar({ ...field, type }) ? ['eq'] : []),
    ...(range.length > 0 ? [`r=${range.join('|')}`] : []),
    ...(lexical ? ['lex'] : []),
    ...(aggregates.length > 0 ? [`a=${aggregates.join('|')}`] : []),
  ].join(',')
}

/** One stream with its schema and all its capabilities. */
export function toStreamDocument(reader: Reader, scope: Scope): JsonObject {
  const all = [...scope.fields.values()]
  const uses = aggregateUses.map(
    (use) => [use, all.filter((one) => one.aggregates.includes(use)).map(toName)] as const,
  )
  const relations = findRelations(reader, scope)
  return {
    ...toHead(scope),
    schema: {
      type: 'object',
      properties: byName(scope, ({ schema }) => schema),
      required: listRequired(scope),
    },
    field_capabilities: byName(scope, toFieldCapability),
    views: toViews(scope),
    relationships: relations.map(({ relation }) => ({
      name: relation.name,
      stream: relation.stream,
      foreign_key: relation.foreignKey,
      cardinality: relation.cardinality,
    })),
    expand_capabilities: relations.map(({ relation }) => ({
      name: relation.name,
      stream: relation.stream,
      target_stream: relation.stream,
      cardinality: relation.cardinality,
      granted: true,
      usable: true,
      foreign_key: relation.foreignKey,
      default_limit: relation.defaultLimit,
      max_limit: relation.maxLimit,
    })),
    query: {
      range_filters: Object.fromEntries(
        all.filter(({ range }) => range.length > 0).map(({ name, range }) => [name, range]),
      ),
      expand: relations.map(({ relation }) => relation.name),
      search: { lexical_fields: all.filter(({ lexical }) => lexical).map(toName) },
      aggregations: Object.fromEntries(uses.filter(([, names]) => names.length > 0)),
    },
  }
}

const toFieldCapability = (field: Field): JsonObject => {
  const { schema, type, range, lexical, aggregates } = field
  return {
    schema,
    type: type === 'other' ? undefined : type,
    granted: true,
    exact_filter: toSupport(isScalar(field)),
    range_filter: {
      ...toSupport(range.length > 0),
      operators: rangeOperators.filter((one) => range.includes(one)),
    },
    lexical_search: toSupport(lexical),
    semantic_search: toSupport(false),
    aggregation: Object.fromEntries(
      aggregateUses.map((use) => [use, toSupport(aggregates.includes(use))]),
    ),
  }
}

/** Everything declared on a granted field is usable; other capabilities are not mentioned. */
const toSupport = (isDeclared: boolean): JsonObject => ({
  declared: isDeclared,
  usable: isDeclared,
})

const toViews = (scope: Scope): readonly { name: string; fields: readonly string[] }[] =>
  scope.source.stream.views.flatMap(({ name }) => {
    const viewFields = findView(scope, name)
    return viewFields ? [{ name, fields: viewFields.map(toName) }] : []
  })

const byName = <T>({ fields }: Scope, toValue: (field: Field) => T): Record<string, T> =>
  Object.fromEntries([...fields.values()].map((field) => [field.name, toValue(field)]))

const toName = ({ name }: { readonly name: string }): string => name
