import type { JsonObject } from '../../capability/json.ts'
import { mapSchema } from '../../json/schema/map-schema.ts'
import { referencesOf } from '../../json/schema/references.ts'

/**
 * A schema that a validator of draft-07 does not read as a stricter one: the official client of 2025
 * validates results with it. Such a validator ignores the keywords of later drafts, so that `items` counts
 * from the first item, two members of `oneOf` can match, and a `not` can.
 */
export function loosenOutputSchema(schema: JsonObject): JsonObject {
  const { nodes, all } = referencesOf(schema)
  if (!nodes.some((node) => laterKeywords.some((keyword) => keyword in node.schema))) return schema
  // What these references name may be left out.
  if (all.some(({ text }) => text.includes('#/') && !/^#\/\$defs\/[^/]+$/.test(text)))
    return schema.type === undefined ? {} : { type: schema.type }
  return mapSchema(schema, loosen)
}

const laterKeywords = [
  'prefixItems',
  'minContains',
  'maxContains',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
]

/** Keywords whose meaning depends on those that are ignored. */
const leftOut: ReadonlySet<string> = new Set([
  'not',
  'if',
  'then',
  'else',
  'unevaluatedItems',
  'unevaluatedProperties',
])

function loosen(schema: JsonObject): JsonObject {
  const { prefixItems, minContains, allOf, anyOf, oneOf } = schema
  const kept = Object.entries(schema).filter(
    ([keyword]) =>
      !leftOut.has(keyword) &&
      !(keyword === 'items' && prefixItems !== undefined) &&
      !(keyword === 'contains' && minContains === 0) &&
      keyword !== 'oneOf',
  )
  if (oneOf === undefined) return Object.fromEntries(kept)
  const union = { anyOf: oneOf }
  const others = Array.isArray(allOf) ? allOf : []
  return { ...Object.fromEntries(kept), ...(anyOf ? { allOf: [...others, union] } : union) }
}
