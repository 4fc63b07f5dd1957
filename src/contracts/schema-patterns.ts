import type { Json, JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { mapSchema } from '../json/schema/map-schema.ts'
import { referencesOf } from '../json/schema/references.ts'
import { pointerOf } from '../json/schema/walk-schema.ts'
import { toUnicodePattern } from '../patterns/to-unicode-pattern.ts'

export interface SchemaPattern {
  readonly source: string
  /** JSON pointer into the schema. */
  readonly pointer: string
}

/** The regular expressions of a schema: `pattern`, and the keys of `patternProperties`. */
export const listPatterns = (root: JsonObject): readonly SchemaPattern[] =>
  referencesOf(root).nodes.flatMap((node) => {
    const { pattern, patternProperties } = node.schema
    if (pattern === undefined && patternProperties === undefined) return []
    const pointer = pointerOf(node)
    return [
      ...(typeof pattern === 'string' ? [{ source: pattern, pointer: `${pointer}/pattern` }] : []),
      ...(isPlainObject(patternProperties)
        ? Object.keys(patternProperties).map((source) => ({
            source,
            pointer: `${pointer}/patternProperties`,
          }))
        : []),
    ]
  })

/** The same schema with patterns that are valid with the `u` flag, as far as they can be translated. */
export const withUnicodePatterns = (root: JsonObject): JsonObject =>
  listPatterns(root).some(({ source }) => source !== toUnicodePattern(source))
    ? mapSchema(root, translatePatterns)
    : root

function translatePatterns(schema: JsonObject): JsonObject {
  const { pattern, patternProperties } = schema
  return {
    ...schema,
    ...(typeof pattern === 'string' && { pattern: toUnicodePattern(pattern) }),
    ...(isPlainObject(patternProperties) && {
      patternProperties: translateKeys(patternProperties as JsonObject),
    }),
  }
}

/** Two patterns can become the same one: then both schemas apply. */
function translateKeys(schemas: JsonObject): JsonObject {
  const translated = new Map<string, Json>()
  for (const [source, schema = true] of Object.entries(schemas)) {
    const pattern = toUnicodePattern(source)
    const other = translated.get(pattern)
    translated.set(pattern, other === undefined ? schema : { allOf: [other, schema] })
  }
  return Object.fromEntries(translated)
}
