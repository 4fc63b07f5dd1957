import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { schemaMapKeywords } from '../../json/schema/keywords.ts'
import type { Draft } from './read-draft.ts'

export interface Conversion {
  /** The converted form of a schema inside; other values are returned unchanged. */
  readonly convertChild: (value: Json | undefined) => Json | undefined
  readonly remark: (keyword: string, text: string) => void
  readonly draft: Draft
  readonly isRoot: boolean
}

type Draftable = Record<string, Json | undefined>

/** One schema in the keywords of 2020-12. The schemas inside are converted already. */
export function convertKeywords(schema: JsonObject, conversion: Conversion): JsonObject {
  const result: Draftable = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const convert = conversions[keyword]
    if (convert) convert(result, value, schema, conversion)
    else result[keyword] = convertValue(keyword, value, conversion)
  }
  return addNull(result, schema, conversion)
}

function convertValue(
  keyword: string,
  value: Json | undefined,
  { convertChild }: Conversion,
): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => convertChild(item) ?? null)
  if (!isPlainObject(value) || !schemaMapKeywords.has(keyword)) return convertChild(value)
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, item]) => [name, convertChild(item)]),
  )
}

type Convert = (
  result: Draftable,
  value: Json | undefined,
  schema: JsonObject,
  conversion: Conversion,
) => void

/** Keywords that 2020-12 does not have, or that mean something else there. */
const conversions: Readonly<Record<string, Convert>> = {
  $schema: () => {},
  definitions: (result, value, { $defs }, conversion) => {
    const converted = convertValue('definitions', value, conversion)
    result.$defs = {
      ...(converted as JsonObject),
      ...asObject($defs && convertValue('$defs', $defs, conversion)),
    }
  },
  $defs: (result, value, { definitions }, conversion) => {
    if (definitions === undefined) result.$defs = convertValue('$defs', value, conversion)
  },
  items: (result, value, { additionalItems }, conversion) => {
    if (!Array.isArray(value)) {
      result.items = conversion.convertChild(value)
      return
    }
    if (value.length > 0) result.prefixItems = convertValue('items', value, conversion)
    if (additionalItems !== undefined) result.items = conversion.convertChild(additionalItems)
  },
  // Without a list of items it has no meaning.
  additionalItems: () => {},
  exclusiveMinimum: toExclusive('exclusiveMinimum', 'minimum'),
  exclusiveMaximum: toExclusive('exclusiveMaximum', 'maximum'),
  minimum: (result, value, { exclusiveMinimum }) => {
    if (exclusiveMinimum !== true) result.minimum = value
  },
  maximum: (result, value, { exclusiveMaximum }) => {
    if (exclusiveMaximum !== true) result.maximum = value
  },
  divisibleBy: (result, value) => {
    result.multipleOf = value
  },
  dependencies: (result, value, schema, { convertChild }) => {
    const names: Draftable = { ...asObject(schema.dependentRequired) }
    const schemas: Draftable = { ...asObject(result.dependentSchemas) }
    for (const [name, dependency] of Object.entries(asObject(value)))
      if (Array.isArray(dependency)) names[name] = dependency
      // Draft-03 allows a single name.
      else if (typeof dependency === 'string') names[name] = [dependency]
      else schemas[name] = convertChild(dependency)
    if (Object.keys(names).length > 0) result.dependentRequired = names
    if (Object.keys(schemas).length > 0) result.dependentSchemas = schemas
  },
  required: (result, value) => {
    // Draft-03 has `required: true` in the property itself; see `properties`.
    if (typeof value === 'boolean') return
    result.required = [...new Set([...asArray(value), ...asArray(result.required)])]
  },
  properties: (result, value, _, conversion) => {
    result.properties = convertValue('properties', value, conversion)
    const names = Object.entries(asObject(value)).flatMap(([name, property]) =>
      isPlainObject(property) && property.required === true ? [name] : [],
    )
    if (names.length > 0) result.required = [...new Set([...asArray(result.required), ...names])]
  },
  type: (result, value, _, { convertChild }) => {
    const types = [value].flat()
    if (types.includes('any')) return
    if (types.every((type) => typeof type === 'string')) result.type = value
    // Draft-03 allows schemas in a list of types.
    else addToAllOf(result, { anyOf: types.map((type) => toTypeSchema(type, convertChild)) })
  },
  extends: (result, value, _, { convertChild }) => {
    for (const base of [value].flat()) addToAllOf(result, convertChild(base) ?? {})
  },
  disallow: (result, value, _, { convertChild }) => {
    const types = [value].flat().map((type) => toTypeSchema(type, convertChild))
    addToAllOf(result, { not: { anyOf: types } })
  },
  allOf: (result, value, _, conversion) => {
    for (const member of asArray(convertValue('allOf', value, conversion)))
      addToAllOf(result, member)
  },
  nullable: () => {},
  format: (result, value) => {
    if (value === 'binary') result.contentMediaType = 'application/octet-stream'
    else if (value === 'byte') result.contentEncoding = 'base64'
    else result.format = value
  },
  // Without references to other documents, the dynamic scope is the document.
  $recursiveRef: (result) => {
    result.$ref = '#'
  },
  $recursiveAnchor: (_, value, __, { isRoot, remark }) => {
    if (value === true && !isRoot)
      remark(
        '$recursiveAnchor',
        'is left out: $recursiveRef is read as a reference to its own document',
      )
  },
}

function toExclusive(exclusive: string, bound: string): Convert {
  return (result, value, schema, { remark }) => {
    if (typeof value !== 'boolean') result[exclusive] = value
    else if (value && schema[bound] !== undefined) result[exclusive] = schema[bound]
    else if (value) remark(exclusive, `is left out: without ${bound} it has no meaning`)
  }
}

function addToAllOf(result: Draftable, member: Json): void {
  result.allOf = [...asArray(result.allOf), member]
}

function toTypeSchema(
  type: Json | undefined,
  convertChild: Conversion['convertChild'],
): JsonObject {
  if (typeof type !== 'string') return (convertChild(type) ?? {}) as JsonObject
  return type === 'any' ? {} : { type }
}

/** `nullable: true` of OpenAPI 3.0. Arguments as a whole are never null. */
function addNull(result: Draftable, { nullable }: JsonObject, { isRoot }: Conversion): JsonObject {
  if (nullable !== true || isRoot) return result
  const { type, enum: values, title, description, default: preset, ...rest } = result
  const hasPlainType = typeof type === 'string' && rest.const === undefined
  if (hasPlainType && values === undefined) return { ...result, type: [type, 'null'] }
  if (hasPlainType && Array.isArray(values))
    return {
      ...result,
      type: [type, 'null'],
      enum: values.includes(null) ? values : [...values, null],
    }
  if (type === undefined && values === undefined && Object.keys(rest).length === 0) return result
  const annotations = Object.entries({ title, description, default: preset })
  return {
    ...Object.fromEntries(annotations.filter(([, value]) => value !== undefined)),
    anyOf: [
      {
        ...(type !== undefined && { type }),
        ...(values !== undefined && { enum: values }),
        ...rest,
      },
      { type: 'null' },
    ],
  }
}

const asObject = (value: unknown): JsonObject => (isPlainObject(value) ? (value as JsonObject) : {})
const asArray = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
