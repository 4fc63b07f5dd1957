import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Scope } from '../model/scope.ts'
import {
  type AggregateUse,
  aggregateUses,
  type Connection,
  cardinalities,
  type Field,
  isScalar,
  type RangeOperator,
  type Relation,
  rangeOperators,
  type Stream,
} from '../model/stream.ts'
import { toFieldType } from '../streams/declare-stream.ts'

type Loose = Readonly<Record<string, unknown>>

/** Parses a remote schema into scopes. Entries that cannot be parsed are skipped. */
export function readScopes(document: JsonObject): readonly Scope[] {
  const { bearer, connectors } = unwrap(document)
  // A client token has exactly one grant, which then applies to every connection.
  const soleGrant = isPlainObject(bearer) && bearer.token_kind === 'client' && bearer.grant_id
  let n = 0
  return toObjects(connectors).flatMap((connector) => {
    const { source } = connector
    const key = firstText(
      connector.connector_key,
      connector.connector_id,
      isPlainObject(source) && source.id,
    )
    if (key === undefined) return []
    return toObjects(connector.streams).flatMap((row) => {
      const name = firstText(row.name)
      if (name === undefined) return []
      const stream = readStream(name, key, row)
      const connections = row.granted_connections ?? connector.granted_connections
      return toObjects(connections).flatMap((one): Scope[] => {
        const connection = readConnection(one, key)
        if (!connection) return []
        n += 1
        return [
          {
            source: { n, connection, stream },
            grant: firstText(one.grant_id, soleGrant) ?? '',
            fields: new Map(stream.fields.map((field) => [field.name, field])),
          },
        ]
      })
    })
  })
}

/** The kind of token the schema was requested with, if the server states it. */
export function readTokenKind(document: JsonObject): string | undefined {
  const { bearer } = unwrap(document)
  return isPlainObject(bearer) ? firstText(bearer.token_kind) : undefined
}

const unwrap = (document: JsonObject): Loose =>
  isPlainObject(document.data) && !('connectors' in document) ? document.data : document

function readConnection(row: Loose, connector: string): Connection | undefined {
  const id = firstText(row.connection_id, row.connector_instance_id)
  const label = firstText(row.display_name)
  return id === undefined ? undefined : dropUndefined({ id, connector, label })
}

function readStream(name: string, connector: string, row: Loose): Stream {
  const capabilities = isPlainObject(row.field_capabilities) ? row.field_capabilities : {}
  const fields = Object.entries(capabilities).flatMap(
    ([field, capability]) => readField(field, capability) ?? [],
  )
  return dropUndefined({
    name,
    connector,
    title: firstText(row.title),
    primaryKey: toNames(row.primary_key),
    cursorField: firstText(row.cursor_field),
    consentTimeField: firstText(row.consent_time_field),
    schema: (isPlainObject(row.schema) ? row.schema : {}) as JsonObject,
    fields: fields.map((field, index) => ({ ...field, n: index + 1 })),
    views: toObjects(row.views).flatMap((view) => {
      const viewName = firstText(view.name)
      return viewName === undefined ? [] : [{ name: viewName, fields: toNames(view.fields) }]
    }),
    relations: toObjects(row.expand_capabilities).flatMap((one) => readRelation(one) ?? []),
  })
}

/** Accepts the full form and the flags of the compact form. */
function readField(name: string, capability: unknown): Omit<Field, 'n'> | undefined {
  if (typeof capability === 'string') return readFlags(name, capability)
  if (!isPlainObject(capability) || capability.granted === false) return undefined
  const schema = (
    isPlainObject(capability.schema) ? capability.schema : { type: capability.type }
  ) as JsonObject
  const range = isPlainObject(capability.range_filter) ? capability.range_filter : {}
  const aggregation = isPlainObject(capability.aggregation) ? capability.aggregation : {}
  return toField(name, schema, {
    exact: isUsable(capability.exact_filter),
    range: isUsable(range) ? toNames(range.operators) : [],
    lexical: isUsable(capability.lexical_search),
    aggregates: aggregateUses.filter((use) => isUsable(aggregation[use])),
  })
}

function readFlags(name: string, text: string): Omit<Field, 'n'> | undefined {
  const flags = text.split(',')
  const flagValue = (key: string) =>
    flags.find((flag) => flag.startsWith(`${key}=`))?.slice(key.length + 1)
  if (flagValue('g') === 'false') return undefined
  const type = flagValue('t') ?? 'string'
  const schema = /^date/.test(type) ? { type: 'string', format: type } : { type }
  return toField(name, schema, {
    exact: flags.includes('eq'),
    range: flagValue('r')?.split('|') ?? [],
    lexical: flags.includes('lex'),
    aggregates: flagValue('a')?.split('|') ?? [],
  })
}

interface FieldUses {
  readonly exact: boolean
  readonly range: readonly string[]
  readonly lexical: boolean
  readonly aggregates: readonly string[]
}

function toField(name: string, schema: JsonObject, uses: FieldUses): Omit<Field, 'n'> {
  const type = toFieldType(schema)
  return dropUndefined({
    name,
    type,
    schema,
    exact: isScalar({ type }) && !uses.exact ? (false as const) : undefined,
    range: rangeOperators.filter((one): one is RangeOperator => uses.range.includes(one)),
    lexical: uses.lexical,
    aggregates: aggregateUses.filter((one): one is AggregateUse => uses.aggregates.includes(one)),
  })
}

function readRelation(row: Loose): Relation | undefined {
  const [name, stream] = [firstText(row.name), firstText(row.target_stream, row.stream)]
  const foreignKey = firstText(row.foreign_key)
  if (name === undefined || stream === undefined || foreignKey === undefined) return undefined
  if (row.usable === false) return undefined
  return {
    name,
    stream,
    foreignKey,
    cardinality: cardinalities.find((one) => one === row.cardinality) ?? 'has_many',
    defaultLimit: Number(row.default_limit) || 10,
    maxLimit: Number(row.max_limit) || 50,
  }
}

const isUsable = (support: unknown): boolean => isPlainObject(support) && support.usable === true

/** The objects in an array; empty for anything else. */
export const toObjects = (value: unknown): readonly Loose[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : []

const toNames = (value: unknown): readonly string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string')

const firstText = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '')
