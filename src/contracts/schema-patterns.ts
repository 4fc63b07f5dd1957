import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { referencesOf } from '../json/schema/references.ts'
import { pointerOf } from '../json/schema/walk-schema.ts'

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
