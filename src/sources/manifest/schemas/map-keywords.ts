import { isPlainObject } from '../../../json/is-plain-object.ts'
import { schemaKeywords, schemaMapKeywords } from '../../../json/schema/keywords.ts'

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
    else if (schemaMapKeywords.has(keyword) && isPlainObject(value))
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
