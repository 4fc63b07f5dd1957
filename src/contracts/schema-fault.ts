import { isPlainObject, type JsonObject } from '../capability/json.ts'
import type { Direction } from './read-contract.ts'

const deepest = 64
const longest = 256 * 1024

/**
 * Why clients would choke on this schema, if they would. One such schema makes official clients
 * refuse the whole list, so it must be found before it is served.
 */
export function findSchemaFault(schema: JsonObject, direction: Direction): string | undefined {
  if (direction === 'input' && schema.type !== 'object')
    return `its root must be "type": "object", not ${JSON.stringify(schema.type) ?? 'absent'}`
  const found = { ids: new Set<string>(), references: [] as string[] }
  const fault = walk(schema, '', 0, found)
  if (fault) return fault
  if (JSON.stringify(schema).length > longest)
    return `it is longer than ${longest} characters as JSON`
  const dangling = found.references.find((reference) => !resolves(reference, schema, found.ids))
  return dangling === undefined
    ? undefined
    : `$ref ${JSON.stringify(dangling)} points to nothing inside the schema; nothing is fetched`
}

const values = new Set(['const', 'default', 'enum', 'examples'])

interface Found {
  readonly ids: Set<string>
  readonly references: string[]
}

function walk(node: unknown, pointer: string, depth: number, found: Found): string | undefined {
  if (typeof node !== 'object' || node === null) return undefined
  if (depth > deepest) return `it is nested deeper than ${deepest} levels`
  if (!Array.isArray(node) && isPlainObject(node)) {
    for (const key of ['$ref', '$dynamicRef'])
      if (typeof node[key] === 'string') found.references.push(node[key])
    for (const key of ['$anchor', '$dynamicAnchor'])
      if (typeof node[key] === 'string') found.ids.add(`#${node[key]}`)
    if (typeof node.$id === 'string') found.ids.add(node.$id)
    if (typeof node.pattern === 'string' && !compiles(node.pattern))
      return `${pointer}/pattern is not a valid regular expression`
  }
  for (const [key, child] of Object.entries(node)) {
    if (key === '__proto__') return `${pointer} has a property named __proto__`
    // What looks like a reference inside a value is only a value.
    const seen = values.has(key) ? { ids: new Set<string>(), references: [] } : found
    const fault = walk(child, `${pointer}/${key}`, depth + 1, seen)
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
  for (const step of reference.slice(2).split('/')) {
    const key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) return false
    node = (node as Record<string, unknown>)[key]
  }
  return true
}
