import type { JsonObject } from '../../../capability/json.ts'

/** How a field compares. `other` values are returned, but cannot be filtered or sorted. */
export const fieldTypes = [
  'string',
  'number',
  'integer',
  'boolean',
  'date',
  'date-time',
  'other',
] as const
export type FieldType = (typeof fieldTypes)[number]

export const rangeOperators = ['gte', 'gt', 'lte', 'lt'] as const
export type RangeOperator = (typeof rangeOperators)[number]

export const aggregateUses = [
  'sum',
  'avg',
  'min',
  'max',
  'count_distinct',
  'group_by',
  'group_by_time',
] as const
export type AggregateUse = (typeof aggregateUses)[number]

/** One top-level field of a stream, and the operations its stream declares for it. */
export interface Field {
  /** The number that identifies the field in the store. */
  readonly n: number
  readonly name: string
  readonly type: FieldType
  readonly schema: JsonObject
  /** `false` when a remote server does not support equality filters on this field. */
  readonly exact?: false
  readonly range: readonly RangeOperator[]
  readonly lexical: boolean
  readonly aggregates: readonly AggregateUse[]
}

export interface StreamView {
  readonly name: string
  readonly fields: readonly string[]
}

/** `has_*`: the other stream's foreign key names this record. `belongs_to`: ours names the other. */
export const cardinalities = ['has_many', 'has_one', 'belongs_to'] as const

export interface Relation {
  readonly name: string
  readonly stream: string
  readonly foreignKey: string
  readonly cardinality: (typeof cardinalities)[number]
  readonly defaultLimit: number
  readonly maxLimit: number
}

/** A named collection of records of one connector. */
export interface Stream {
  readonly name: string
  readonly connector: string
  readonly title?: string
  readonly primaryKey: readonly string[]
  readonly cursorField?: string
  /** The field that a grant's time range applies to. */
  readonly consentTimeField?: string
  readonly schema: JsonObject
  readonly fields: readonly Field[]
  readonly views: readonly StreamView[]
  /** Relations that can be expanded. */
  readonly relations: readonly Relation[]
}

/** One configured account of a connector. */
export interface Connection {
  readonly id: string
  readonly connector: string
  readonly label?: string
}

/** One stream of one connection. Every record belongs to exactly one source. */
export interface RecordSource {
  /** The source's number in the store. */
  readonly n: number
  readonly connection: Connection
  readonly stream: Stream
}

/** A comparable value as stored: times in milliseconds, booleans as 0 and 1. */
export type Comparable = string | number

export const isScalar = ({ type }: Pick<Field, 'type'>): boolean => type !== 'other'
export const isTime = ({ type }: Pick<Field, 'type'>): boolean =>
  type === 'date' || type === 'date-time'
