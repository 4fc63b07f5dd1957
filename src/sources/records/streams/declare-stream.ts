import { z } from 'zod'
import type { Fault } from '../../../capability/fault.ts'
import type { JsonObject } from '../../../capability/json.ts'
import { dropUndefined } from '../../../json/drop-undefined.ts'
import {
  type AggregateUse,
  aggregateUses,
  cardinalities,
  type Field,
  type FieldType,
  type Relation,
  rangeOperators,
  type Stream,
} from '../model/stream.ts'

const names = z.array(z.string().min(1))
const relation = z.strictObject({
  name: z.string().min(1),
  stream: z.string().min(1),
  foreign_key: z.string().min(1),
  cardinality: z.enum(cardinalities).default('has_many'),
})
const expansion = z.union([
  z
    .string()
    .min(1)
    .transform((name) => ({ name, default_limit: 10, max_limit: 50 })),
  z.strictObject({
    name: z.string().min(1),
    default_limit: z.number().int().min(1).default(10),
    max_limit: z.number().int().min(1).max(100).default(50),
  }),
])

/** One entry of `streams.yaml`. */
export const streamShape = z.strictObject({
  connector: z.string().min(1).optional(),
  title: z.string().optional(),
  primary_key: z.union([
    z
      .string()
      .min(1)
      .transform((name) => [name]),
    names.min(1),
  ]),
  cursor_field: z.string().optional(),
  consent_time_field: z.string().optional(),
  schema: z.looseObject({ properties: z.record(z.string(), z.looseObject({})) }),
  views: z.array(z.strictObject({ name: z.string().min(1), fields: names.min(1) })).default([]),
  relationships: z.array(relation).default([]),
  query: z
    .strictObject({
      range_filters: z.record(z.string(), z.array(z.enum(rangeOperators))).default({}),
      expand: z.array(expansion).default([]),
      search: z.strictObject({ lexical_fields: names.default([]) }).prefault({}),
      aggregations: z.partialRecord(z.enum(aggregateUses), names).default({}),
    })
    .prefault({}),
})

export type StreamDeclaration = z.output<typeof streamShape>

/** Numbers fields in order until a store assigns its own numbers. Faults carry their path. */
export function declareStream(
  name: string,
  connector: string,
  declaration: StreamDeclaration,
): Stream | Fault<readonly StreamFault[]> {
  const { properties } = declaration.schema
  const faults = findFaults(declaration)
  if (faults.length > 0) return { fault: faults }
  const { query } = declaration
  const fields = Object.entries(properties).map(([field, schema], index): Field => {
    const type = toFieldType(schema as JsonObject)
    return {
      n: index + 1,
      name: field,
      type,
      schema: schema as JsonObject,
      range: query.range_filters[field] ?? [],
      lexical: query.search.lexical_fields.includes(field),
      aggregates: aggregateUses.filter((use) => mayUse(query.aggregations, use, field)),
    }
  })
  return dropUndefined({
    name,
    connector,
    title: declaration.title,
    primaryKey: declaration.primary_key,
    cursorField: declaration.cursor_field,
    consentTimeField: declaration.consent_time_field,
    schema: declaration.schema as JsonObject,
    fields,
    views: declaration.views,
    relations: toRelations(declaration),
  })
}

/** `sum` implies `avg`: a reader could divide the sum by the count. */
const mayUse = (
  aggregations: StreamDeclaration['query']['aggregations'],
  use: AggregateUse,
  field: string,
): boolean =>
  (aggregations[use] ?? []).includes(field) ||
  (use === 'avg' && (aggregations.sum ?? []).includes(field))

function toRelations({ relationships, query }: StreamDeclaration): readonly Relation[] {
  return query.expand.flatMap(({ name, default_limit, max_limit }) =>
    relationships
      .filter((one) => one.name === name)
      .map(({ stream, foreign_key, cardinality }) => ({
        name,
        stream,
        foreignKey: foreign_key,
        cardinality,
        defaultLimit: Math.min(default_limit, max_limit),
        maxLimit: max_limit,
      })),
  )
}

export interface StreamFault {
  readonly path: readonly string[]
  readonly message: string
}

function findFaults(declaration: StreamDeclaration): readonly StreamFault[] {
  const { query, relationships } = declaration
  const { properties } = declaration.schema
  const type = (field: string) => toFieldType(properties[field] as JsonObject)
  const isDeclared = (field: string) => Object.hasOwn(properties, field)
  const references: [readonly string[], readonly string[]][] = [
    [['primary_key'], declaration.primary_key],
    [['cursor_field'], declaration.cursor_field === undefined ? [] : [declaration.cursor_field]],
    [
      ['consent_time_field'],
      declaration.consent_time_field === undefined ? [] : [declaration.consent_time_field],
    ],
    ...declaration.views.map((view): [string[], string[]] => [['views', view.name], view.fields]),
    [['query', 'range_filters'], Object.keys(query.range_filters)],
    [['query', 'search', 'lexical_fields'], query.search.lexical_fields],
    ...Object.entries(query.aggregations).map(([use, fields]): [string[], readonly string[]] => [
      ['query', 'aggregations', use],
      fields ?? [],
    ]),
  ]
  const unknown = references.flatMap(([path, fields]) =>
    fields
      .filter((field) => !isDeclared(field))
      .map((field) => ({ path, message: `${field} is not a property of the schema` })),
  )
  if (unknown.length > 0) return unknown
  const requirements: [readonly string[], readonly string[], readonly FieldType[]][] = [
    [
      ['primary_key'],
      declaration.primary_key,
      ['string', 'integer', 'number', 'date', 'date-time'],
    ],
    [['cursor_field'], [declaration.cursor_field ?? []].flat(), scalars],
    [['consent_time_field'], [declaration.consent_time_field ?? []].flat(), times],
    [['query', 'range_filters'], Object.keys(query.range_filters), [...numbers, ...times]],
    [['query', 'search', 'lexical_fields'], query.search.lexical_fields, ['string']],
    [['query', 'aggregations', 'sum'], query.aggregations.sum ?? [], numbers],
    [['query', 'aggregations', 'avg'], query.aggregations.avg ?? [], numbers],
    [['query', 'aggregations', 'group_by'], query.aggregations.group_by ?? [], scalars],
    [['query', 'aggregations', 'group_by_time'], query.aggregations.group_by_time ?? [], times],
    [['query', 'aggregations', 'count_distinct'], query.aggregations.count_distinct ?? [], scalars],
    [['query', 'aggregations', 'min'], query.aggregations.min ?? [], scalars],
    [['query', 'aggregations', 'max'], query.aggregations.max ?? [], scalars],
  ]
  return [
    ...requirements.flatMap(([path, fields, allowed]) =>
      fields
        .filter((field) => !allowed.includes(type(field)))
        .map((field) => ({
          path,
          message: `${field} is ${type(field)}; here it must be ${allowed.join(' or ')}`,
        })),
    ),
    ...query.expand
      .filter(({ name }) => !relationships.some((one) => one.name === name))
      .map(({ name }) => ({
        path: ['query', 'expand'],
        message: `${name} is not a declared relationship`,
      })),
  ]
}

const numbers = ['number', 'integer'] as const
const times = ['date', 'date-time'] as const
const scalars = ['string', 'boolean', ...numbers, ...times] as const

/** `null` in a type list means only that the value is nullable. */
export function toFieldType(schema: JsonObject): FieldType {
  const { type, format } = schema
  const types = (Array.isArray(type) ? type : [type]).filter((one) => one !== 'null')
  const [only, ...others] = types
  if (others.length > 0) return 'other'
  if (only === 'string') return format === 'date' || format === 'date-time' ? format : 'string'
  return only === 'number' || only === 'integer' || only === 'boolean' ? only : 'other'
}
