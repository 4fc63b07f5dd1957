import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { type References, referencesOf } from '../json/schema/references.ts'
import { pointerOf } from '../json/schema/walk-schema.ts'
import { findSyntaxFault } from '../patterns/linear-pattern.ts'
import { findReferenceLoop } from './reference-loop.ts'
import { listPatterns } from './schema-patterns.ts'

/**
 * Finds the reason why a schema cannot be served, if any. One bad schema makes official clients drop
 * the whole tool list.
 */
export function findSchemaFault(schema: JsonObject): string | undefined {
  const references = referencesOf(schema)
  for (const node of references.nodes) {
    if (node.schema.$async === true && node.path.length > 0)
      return `${pointerOf(node)}/$async is not supported`
  }
  for (const { source, pointer } of listPatterns(schema)) {
    const fault = findSyntaxFault(source)
    if (fault !== undefined) return `${pointer} ${fault}`
  }
  const dangling = references.all.find(({ target }) => target === undefined)
  if (dangling) {
    const { node, keyword, text } = dangling
    return `${pointerOf(node)}/${keyword} ${JSON.stringify(text)} points to nothing inside the schema; external references are not fetched`
  }
  return findReferenceLoop(references)
}

/** The input schema with `"type": "object"` at its root, as MCP requires; a fault if no object is valid. */
export function withObjectRoot(schema: JsonObject): JsonObject | { readonly fault: string } {
  if (schema.type === 'object') return schema
  if (!acceptsObject(schema, referencesOf(schema), new Set()))
    return {
      fault: `the root of the schema must be "type": "object", not ${JSON.stringify(schema.type) ?? 'a schema that no object matches'}`,
    }
  const { type: _, ...rest } = schema
  return { type: 'object', ...rest }
}

function acceptsObject(schema: unknown, references: References, seen: Set<unknown>): boolean {
  if (typeof schema === 'boolean') return schema
  if (!isPlainObject(schema)) return true
  if (seen.has(schema)) return true
  seen.add(schema)
  const { type, $ref, allOf, anyOf, oneOf, not } = schema
  const accepts = (one: unknown) => acceptsObject(one, references, seen)
  if (type !== undefined && ![type].flat().includes('object')) return false
  if ('const' in schema && !isPlainObject(schema.const)) return false
  if (Array.isArray(schema.enum) && !schema.enum.some(isPlainObject)) return false
  if (typeof $ref === 'string' && !accepts(references.resolve($ref, schema as JsonObject)))
    return false
  if (isPlainObject(not) && Object.keys(not).length === 0) return false
  return (
    (!Array.isArray(allOf) || allOf.every(accepts)) &&
    (!Array.isArray(anyOf) || anyOf.some(accepts)) &&
    (!Array.isArray(oneOf) || oneOf.some(accepts))
  )
}
