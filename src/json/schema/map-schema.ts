import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../is-plain-object.ts'
import { listChildren, type SchemaNode, toRootNode } from './walk-schema.ts'

/** A copy in which every schema is changed, those inside a schema before it. Data is not walked. */
export function mapSchema(
  root: JsonObject,
  change: (schema: JsonObject) => JsonObject,
): JsonObject {
  const map = (node: SchemaNode): JsonObject => change(mapChildren(node, map))
  return map(toRootNode(root))
}

/** A copy of one schema with other schemas directly inside it. */
export function mapChildren(
  node: SchemaNode,
  change: (child: SchemaNode) => JsonObject,
): JsonObject {
  const changed = new Map(listChildren(node).map((child) => [child.schema, change(child)]))
  const replace = (value: unknown): unknown =>
    isPlainObject(value) ? (changed.get(value as JsonObject) ?? value) : value
  const copy: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node.schema))
    copy[keyword] = Array.isArray(value)
      ? value.map(replace)
      : isPlainObject(value) && !changed.has(value as JsonObject)
        ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, replace(item)]))
        : replace(value)
  return copy as JsonObject
}
