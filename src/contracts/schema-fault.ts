import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Direction } from './read-contract.ts'
import { dataKeywords } from './schema-patterns.ts'

const maxDepth = 64
const maxLength = 256 * 1024

/**
 * Finds the reason why MCP clients would reject this schema, if any. One bad schema makes official
 * clients drop the whole tool list.
 */
export function findSchemaFault(schema: JsonObject, direction: Direction): string | undefined {
  if (direction === 'input' && schema.type !== 'object')
    return `the root of the schema must be "type": "object", not ${JSON.stringify(schema.type) ?? 'absent'}`
  const links: Links = { ids: new Set(), references: [] }
  const fault = walk(schema, '', 0, links)
  if (fault) return fault
  if (JSON.stringify(schema).length > maxLength)
    return `the schema is longer than ${maxLength} characters as JSON`
  const dangling = links.references.find((reference) => !resolves(reference, schema, links.ids))
  return dangling === undefined
    ? undefined
    : `$ref ${JSON.stringify(dangling)} points to nothing inside the schema; external references are not fetched`
}

interface Links {
  readonly ids: Set<string>
  readonly references: string[]
}

/** Without `links`, the node is data: a "$ref" in it is not a reference. */
function walk(node: unknown, pointer: string, depth: number, links?: Links): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined
  if (depth > maxDepth) return `the schema is nested deeper than ${maxDepth} levels`
  if (links && !Array.isArray(node) && isPlainObject(node)) {
    if (node.$async === true && pointer !== '') return `${pointer}/$async is not supported`
    for (const key of ['$ref', '$dynamicRef'])
      if (typeof node[key] === 'string') links.references.push(node[key])
    for (const key of ['$anchor', '$dynamicAnchor'])
      if (typeof node[key] === 'string') links.ids.add(`#${node[key]}`)
    if (typeof node.$id === 'string') links.ids.add(node.$id)
    if (typeof node.pattern === 'string' && !compiles(node.pattern))
      return `${pointer}/pattern is not a valid regular expression`
  }
  for (const [key, child] of Object.entries(node)) {
    if (key === '__proto__') return `${pointer} has a property named __proto__`
    const fault = walk(
      child,
      `${pointer}/${key}`,
      depth + 1,
      dataKeywords.has(key) ? undefined : links,
    )
    if (fault) return fault
  }
  return undefined
}

function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

function resolves(reference: string, schema: JsonObject, ids: ReadonlySet<string>): boolean {
  if (reference === '#' || ids.has(reference)) return true
  if (!reference.startsWith('#/')) return ids.has(reference.replace(/#$/, ''))
  let node: unknown = schema
  for (const segment of reference.slice(2).split('/')) {
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false
    node = (node as Record<string, unknown>)[key]
  }
  return true
}
