import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../is-plain-object.ts'
import { toPointer } from '../to-pointer.ts'
import { olderSchemaKeywords, schemaKeywords, schemaMapKeywords } from './keywords.ts'

/** A subschema and its place. Data, such as the value of `default`, is not walked. */
export interface SchemaNode {
  readonly schema: JsonObject
  readonly path: readonly (string | number)[]
  /** The keyword of the parent that leads here; `undefined` for the root. */
  readonly keyword: string | undefined
}

export const toRootNode = (schema: JsonObject): SchemaNode => ({
  schema,
  path: [],
  keyword: undefined,
})

export const pointerOf = ({ path }: SchemaNode): string => toPointer(path)

/** The schema and all schemas inside it, parents first. */
export function* walkSchema(root: SchemaNode): Generator<SchemaNode> {
  const pending = [root]
  for (let node = pending.pop(); node; node = pending.pop()) {
    yield node
    pending.push(...listChildren(node).reverse())
  }
}

/** The schemas directly inside a schema. */
export function listChildren({ schema, path }: SchemaNode): SchemaNode[] {
  const children: SchemaNode[] = []
  const add = (value: unknown, keyword: string, ...segments: (string | number)[]) => {
    if (isPlainObject(value))
      children.push({ schema: value as JsonObject, path: [...path, ...segments], keyword })
  }
  for (const [keyword, value] of Object.entries(schema)) {
    if (schemaMapKeywords.has(keyword) || keyword === 'dependencies') {
      if (isPlainObject(value))
        for (const [name, item] of Object.entries(value)) add(item, keyword, keyword, name)
    } else if (schemaKeywords.has(keyword) || olderSchemaKeywords.has(keyword)) {
      if (Array.isArray(value))
        for (const [index, item] of value.entries()) add(item, keyword, keyword, index)
      else add(value, keyword, keyword)
    }
  }
  return children
}
