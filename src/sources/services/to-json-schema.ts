import type { Fault } from '../../capability/fault.ts'
import type { Json, JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'

/** A JSON Schema 2020-12, or why the input has no such form. */
export type SchemaReading =
  | {
      /** The schema that remains. */
      readonly schema: JsonObject
      /** JSON pointers to the keywords that were removed. */
      readonly strippedKeywords: readonly string[]
    }
  | Fault

/**
 * Removes keywords that are not part of JSON Schema 2020-12, such as `layout` or `conditionals`.
 * Returns `{ fault }` if what remains has no JSON form.
 *
 * @example
 * ```ts
 * import { toJsonSchema } from 'drawbridge-mcp'
 *
 * const reading = toJsonSchema({ type: 'number', layout: 'slider' })
 * if ('fault' in reading) throw new Error(reading.fault)
 * console.log(reading.schema, reading.strippedKeywords) // { type: 'number' } [ '/layout' ]
 * ```
 */
export function toJsonSchema(schema: unknown): SchemaReading {
  const strippedKeywords: string[] = []
  try {
    return { schema: toSchema(schema, '', 0, strippedKeywords) as JsonObject, strippedKeywords }
  } catch (error) {
    if (error instanceof NoJsonForm) return { fault: error.message }
    throw error
  }
}

class NoJsonForm extends Error {}

const maxDepth = 64

function toSchema(
  schema: unknown,
  pointer: string,
  depth: number,
  strippedKeywords: string[],
): Json {
  if (typeof schema === 'boolean' && depth > 0) return schema
  if (!isPlainObject(schema)) throw new NoJsonForm(`${pointer || 'it'} is not a schema`)
  if (depth > maxDepth) throw new NoJsonForm(`it is nested deeper than ${maxDepth} levels`)
  for (const type of [schema.type].flat())
    if (type !== undefined && !types.has(type))
      throw new NoJsonForm(`${pointer}/type ${JSON.stringify(type)} has no JSON form`)
  const convert = (child: unknown, path: string) =>
    toSchema(child, `${pointer}/${path}`, depth + 1, strippedKeywords)
  const entries: [string, Json][] = []
  for (const [keyword, value] of Object.entries(schema)) {
    const form = keyword.startsWith('x-') ? 'data' : forms.get(keyword)
    if (value === undefined) continue
    if (form === undefined) strippedKeywords.push(`${pointer}/${keyword}`)
    else entries.push([keyword, readers[form](value, keyword, convert)])
  }
  return Object.fromEntries(entries)
}

type Convert = (child: unknown, path: string) => Json
type Form = 'schema' | 'schemas' | 'named schemas' | 'data'

const readers: Record<Form, (value: unknown, keyword: string, convert: Convert) => Json> = {
  schema: (value, keyword, convert) => convert(value, keyword),
  schemas: (value, keyword, convert) => {
    if (!Array.isArray(value)) throw new NoJsonForm(`${keyword} must be a list of schemas`)
    return value.map((child, index) => convert(child, `${keyword}/${index}`))
  },
  'named schemas': (value, keyword, convert) => {
    if (!isPlainObject(value)) throw new NoJsonForm(`${keyword} must be a map of schemas`)
    return Object.fromEntries(
      Object.entries(value).map(([name, child]) => [name, convert(child, `${keyword}/${name}`)]),
    )
  },
  data: (value, keyword) => {
    const data = toJson(value)
    if (data === undefined) throw new NoJsonForm(`the value of ${keyword} has no JSON form`)
    return data
  },
}

const types = new Set<unknown>([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
])

/** All keywords of JSON Schema 2020-12, by the form of their value. */
const forms: ReadonlyMap<string, Form> = new Map(
  Object.entries({
    schema:
      'items additionalProperties contains propertyNames not if then else unevaluatedItems unevaluatedProperties contentSchema',
    schemas: 'allOf anyOf oneOf prefixItems',
    'named schemas': 'properties patternProperties $defs definitions dependentSchemas',
    data: '$schema $id $ref $anchor $dynamicRef $dynamicAnchor $comment type enum const title description default examples deprecated readOnly writeOnly format required dependentRequired minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems minContains maxContains minProperties maxProperties contentEncoding contentMediaType',
  } satisfies Record<Form, string>).flatMap(([form, keywords]) =>
    keywords.split(' ').map((keyword) => [keyword, form as Form]),
  ),
)

/** A JSON copy; `undefined` if functions, symbols or non-finite numbers would be lost. */
export function toJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value, (_, item) => {
      if (typeof item === 'function' || typeof item === 'symbol') throw new NoJsonForm()
      if (typeof item === 'number' && !Number.isFinite(item)) throw new NoJsonForm()
      return item
    })
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
