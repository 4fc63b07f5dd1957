import { isPlainObject } from '../../../json/is-plain-object.ts'

/** Keywords whose value is a map of schemas; its keys are names, not keywords. */
export const namedSchemaKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

/** Keywords whose value is a schema or a list of schemas. */
export const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
])

const maxDepth = 1000

/** Copies a schema, passing every non-schema keyword to `change`; `undefined` removes it. */
export function mapKeywords(
  schema: unknown,
  change: (keyword: string, value: unknown) => unknown,
  depth = 0,
): unknown {
  if (depth > maxDepth) throw new Error(`it is nested deeper than ${maxDepth} levels`)
  const mapChild = (item: unknown) => mapKeywords(item, change, depth + 1)
  if (Array.isArray(schema)) return schema.map(mapChild)
  if (!isPlainObject(schema)) return schema
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (schemaKeywords.has(keyword)) copy[keyword] = mapChild(value)
    else if (namedSchemaKeywords.has(keyword) && isPlainObject(value))
      copy[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, mapChild(item)]),
      )
    else {
      const newValue = change(keyword, value)
      if (newValue !== undefined) copy[keyword] = newValue
    }
  }
  return copy
}
