import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import type { Scope } from '../grants/scope.ts'
import { toFieldType } from '../model/declare-stream.ts'
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

type Loose = Readonly<Record<string, unknown>>

/** What a remote schema grants. What cannot be understood is not there. */
export function readScopes(document: JsonObject): readonly Scope[] {
  const { bearer, connectors } = unwrap(document)
  // What is read under one grant is read under this one.
  const only = isPlainObject(bearer) && bearer.token_kind === 'client' && bearer.grant_id
  let n = 0
  return listOf(connectors).flatMap((connector) => {
    const { source } = connector
    const key = textOf(
      connector.connector_key,
      connector.connector_id,
      isPlainObject(source) && source.id,
    )
    if (key === undefined) return []
    return listOf(connector.streams).flatMap((row) => {
      const name = textOf(row.name)
      if (name === undefined) return []
      const stream = readStream(name, key, row)
      const where = row.granted_connections ?? connector.granted_connections
      return listOf(where).flatMap((one): Scope[] => {
        const connection = readConnection(one, key)
        if (!connection) return []
        n += 1
        return [
          {
            source: { n, connection, stream },
            grant: textOf(one.grant_id, only) ?? '',
            fields: new Map(stream.fields.map((field) => [field.name, field])),
          },
        ]
      })
    })
  })
}

/** Whose token it was asked with, where it says so. */
export function readTokenKind(document: JsonObject): string | undefined {
  const { bearer } = unwrap(document)
  return isPlainObject(bearer) ? textOf(bearer.token_kind) : undefined
}

const unwrap = (document: JsonObject): Loose =>
  isPlainObject(document.data) && !('connectors' in document) ? document.data : document

function readConnection(row: Loose, connector: string): Connection | undefined {
  const id = textOf(row.connection_id, row.connector_instance_id)
  const label = textOf(row.display_name)
  return id === undefined ? undefined : { id, connector, ...(label !== undefined && { label }) }
}

function readStream(name: string, connector: string, row: Loose): Stream {
  const capabilities = isPlainObject(row.field_capabilities) ? row.field_capabilities : {}
  const fields = Object.entries(capabilities).flatMap(
    ([field, said]) => readField(field, said) ?? [],
  )
  const numbered = fields.map((field, index) => ({ ...field, n: index + 1 }))
  const [title, cursorField, consentTimeField] = [
    textOf(row.title),
    textOf(row.cursor_field),
    textOf(row.consent_time_field),
  ]
  return {
    name,
    connector,
    ...(title !== undefined && { title }),
    primaryKey: namesOf(row.primary_key),
    ...(cursorField !== undefined && { cursorField }),
    ...(consentTimeField !== undefined && { consentTimeField }),
    schema: (isPlainObject(row.schema) ? row.schema : {}) as JsonObject,
    fields: numbered,
    views: listOf(row.views).flatMap((view) => {
      const called = textOf(view.name)
      return called === undefined ? [] : [{ name: called, fields: namesOf(view.fields) }]
    }),
    relations: listOf(row.expand_capabilities).flatMap((one) => readRelation(one) ?? []),
  }
}

/** Spelled out, or in the flags of the compact form. */
function readField(name: string, said: unknown): Omit<Field, 'n'> | undefined {
  if (typeof said === 'string') return readFlags(name, said)
  if (!isPlainObject(said) || said.granted === false) return undefined
  const schema = (isPlainObject(said.schema) ? said.schema : { type: said.type }) as JsonObject
  const range = isPlainObject(said.range_filter) ? said.range_filter : {}
  const aggregation = isPlainObject(said.aggregation) ? said.aggregation : {}
  return toField(name, schema, {
    exact: isUsable(said.exact_filter),
    range: isUsable(range) ? namesOf(range.operators) : [],
    lexical: isUsable(said.lexical_search),
    uses: aggregateUses.filter((use) => isUsable(aggregation[use])),
  })
}

function readFlags(name: string, text: string): Omit<Field, 'n'> | undefined {
  const flags = text.split(',')
  const of = (key: string) =>
    flags.find((flag) => flag.startsWith(`${key}=`))?.slice(key.length + 1)
  if (of('g') === 'false') return undefined
  const type = of('t') ?? 'string'
  const schema = /^date/.test(type) ? { type: 'string', format: type } : { type }
  return toField(name, schema, {
    exact: flags.includes('eq'),
    range: of('r')?.split('|') ?? [],
    lexical: flags.includes('lex'),
    uses: of('a')?.split('|') ?? [],
  })
}

interface Uses {
  readonly exact: boolean
  readonly range: readonly string[]
  readonly lexical: boolean
  readonly uses: readonly string[]
}

function toField(name: string, schema: JsonObject, said: Uses): Omit<Field, 'n'> {
  const type = toFieldType(schema)
  return {
    name,
    type,
    schema,
    ...(isScalar({ type }) && !said.exact && { exact: false as const }),
    range: rangeOperators.filter((one): one is RangeOperator => said.range.includes(one)),
    lexical: said.lexical,
    aggregates: aggregateUses.filter((one): one is AggregateUse => said.uses.includes(one)),
  }
}

function readRelation(row: Loose): Relation | undefined {
  const [name, stream] = [textOf(row.name), textOf(row.target_stream, row.stream)]
  const foreignKey = textOf(row.foreign_key)
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

const isUsable = (said: unknown): boolean => isPlainObject(said) && said.usable === true

const listOf = (value: unknown): readonly Loose[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : []

const namesOf = (value: unknown): readonly string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string')

const textOf = (...values: readonly unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '')
