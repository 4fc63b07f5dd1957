import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'

export interface SchemaPattern {
  readonly source: string
  /** JSON pointer into the schema. */
  readonly pointer: string
}

/** The regular expressions of a schema: `pattern`, and the keys of `patternProperties`. */
export function listPatterns(schema: JsonObject): readonly SchemaPattern[] {
  const patterns: SchemaPattern[] = []
  const walk = (node: unknown, pointer: string): void => {
    if (typeof node !== 'object' || node === null) return
    if (isPlainObject(node)) {
      if (typeof node.pattern === 'string')
        patterns.push({ source: node.pattern, pointer: `${pointer}/pattern` })
      if (isPlainObject(node.patternProperties))
        for (const source of Object.keys(node.patternProperties))
          patterns.push({ source, pointer: `${pointer}/patternProperties` })
    }
    for (const [key, child] of Object.entries(node))
      if (!dataKeywords.has(key)) walk(child, `${pointer}/${key}`)
  }
  walk(schema, '')
  return patterns
}

/** Keywords whose content is data, not a subschema. */
export const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples'])
