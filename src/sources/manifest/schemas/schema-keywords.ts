import { isPlainObject } from '../../../capability/json.ts'

/** Keywords under which schemas stand by name: what is between is no keyword. */
export const namedSchemaKeywords: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
])

/** Keywords that hold a schema, or a list of them. Whatever else holds is a value. */
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

const deepest = 1000

/** A copy in which every keyword of every schema is as `change` says; `undefined` leaves it out. */
export function mapKeywords(
  schema: unknown,
  change: (keyword: string, value: unknown) => unknown,
  depth = 0,
): unknown {
  if (depth > deepest) throw new Error(`it is nested deeper than ${deepest} levels`)
  const follow = (item: unknown) => mapKeywords(item, change, depth + 1)
  if (Array.isArray(schema)) return schema.map(follow)
  if (!isPlainObject(schema)) return schema
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (schemaKeywords.has(keyword)) copy[keyword] = follow(value)
    else if (namedSchemaKeywords.has(keyword) && isPlainObject(value))
      copy[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, follow(item)]),
      )
    else {
      const changed = change(keyword, value)
      if (changed !== undefined) copy[keyword] = changed
    }
  }
  return copy
}
