import type { JsonObject } from '../../../capability/json.ts'
import { type Failed, isFailed } from '../../../capability/outcome.ts'
import { findView } from '../grants/narrow-fields.ts'
import type { Scope } from '../grants/scope.ts'
import {
  aggregateUses,
  type Connection,
  type Field,
  isScalar,
  rangeOperators,
} from '../model/stream.ts'
import { findRelations } from '../query/expand.ts'
import type { Reader } from '../reading/reader.ts'
import {
  findScopes,
  groupByConnector,
  type SchemaQuery,
  toConnectionData,
} from './describe-schema.ts'

export interface DocumentQuery extends SchemaQuery {
  /** Flags instead of what they stand for. */
  readonly isCompact: boolean
}

/** The schema as programs read it: whole, or as short as its grammar allows. */
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
          // Said once for all streams that are in every connection.
          ...(members.length < connections.length && {
            granted_connections: members.map(({ source }) => toGranted(source.connection)),
          }),
        }
      }),
    ),
  }))
  return {
    object: 'schema',
    ...(query.isCompact && { detail: 'compact', field_capability_legend: legend }),
    ...(query.detail === 'full' && { detail: 'full' }),
    connectors,
    connector_count: connectors.length,
    stream_count: connectors.reduce((sum, { stream_count }) => sum + stream_count, 0),
  }
}

const legend =
  't=type; eq=exact filter; r=range operators; lex=lexical search; a=aggregations; everything listed is granted'

/** The same stream may be granted with other fields in another connection. */
function toVariants(rows: readonly Scope[]): readonly (readonly Scope[])[] {
  const byFields = new Map<string, Scope[]>()
  for (const scope of rows) {
    const key = [...scope.fields.keys()].join('\n')
    byFields.set(key, [...(byFields.get(key) ?? []), scope])
  }
  return [...byFields.values()]
}

/** Only granted fields are ever named, not even as keys. */
function toHead({ source: { stream }, fields }: Scope): JsonObject {
  const granted = (name: string | undefined) => name !== undefined && fields.has(name)
  return {
    object: 'stream',
    name: stream.name,
    ...(stream.title !== undefined && { title: stream.title }),
    ...(stream.primaryKey.every(granted) && { primary_key: stream.primaryKey }),
    ...(granted(stream.cursorField) && { cursor_field: stream.cursorField ?? '' }),
    ...(granted(stream.consentTimeField) && { consent_time_field: stream.consentTimeField ?? '' }),
  }
}

function toCompactStream(reader: Reader, scope: Scope): JsonObject {
  const views = toViews(scope)
  const relations = findRelations(reader, scope).map(({ relation }) => relation.name)
  return {
    ...toHead(scope),
    field_capabilities: byName(scope, toFlags),
    ...(views.length > 0 && { views: views.map(({ name }) => name) }),
    ...(relations.length > 0 && { expand: relations }),
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

/** One stream with all that can be done with it. */
export function toStreamDocument(reader: Reader, scope: Scope): JsonObject {
  const { source, fields } = scope
  const { required } = source.stream.schema
  const all = [...fields.values()]
  const uses = aggregateUses.map(
    (use) => [use, all.filter((one) => one.aggregates.includes(use)).map(toName)] as const,
  )
  const relations = findRelations(reader, scope)
  return {
    ...toHead(scope),
    schema: {
      type: 'object',
      properties: byName(scope, ({ schema }) => schema),
      ...(Array.isArray(required) && {
        required: required.filter((name) => typeof name === 'string' && fields.has(name)),
      }),
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
    ...(type !== 'other' && { type }),
    granted: true,
    exact_filter: toAbility(isScalar(field)),
    range_filter: {
      ...toAbility(range.length > 0),
      operators: rangeOperators.filter((one) => range.includes(one)),
    },
    lexical_search: toAbility(lexical),
    semantic_search: toAbility(false),
    aggregation: Object.fromEntries(
      aggregateUses.map((use) => [use, toAbility(aggregates.includes(use))]),
    ),
  }
}

/** What is declared and granted can be used; nothing else is told. */
const toAbility = (declared: boolean): JsonObject => ({ declared, usable: declared })

const toViews = (scope: Scope): readonly { name: string; fields: readonly string[] }[] =>
  scope.source.stream.views.flatMap(({ name }) => {
    const granted = findView(scope, name)
    return granted ? [{ name, fields: granted.map(toName) }] : []
  })

const byName = <T>({ fields }: Scope, toValue: (field: Field) => T): Record<string, T> =>
  Object.fromEntries([...fields.values()].map((field) => [field.name, toValue(field)]))

const toName = ({ name }: { readonly name: string }): string => name
