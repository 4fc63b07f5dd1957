import type { Json, JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { References } from '../json/schema/references.ts'
import { pointerOf } from '../json/schema/walk-schema.ts'

export interface EndlessSchema {
  /** Where the schema requires itself, as a JSON pointer. */
  readonly pointer: string
  /** True if no value is valid for the whole schema, false if only for an optional part. */
  readonly isRoot: boolean
}

/**
 * Finds a schema that only values without an end satisfy, because it requires itself through properties or
 * items. Loops for the same value, without either, are those of `findReferenceLoop`.
 */
export function findEndlessSchema(references: References): EndlessSchema | undefined {
  const { nodes, all } = references
  const [root] = nodes
  if (!root || all.length === 0) return undefined
  const targets = new Map<JsonObject, Json[]>()
  for (const { node, target = true } of all)
    targets.set(node.schema, [...(targets.get(node.schema) ?? []), target])
  const finite = new Set<unknown>()
  const blockerOf = (schema: JsonObject) =>
    findBlocker(schema, targets.get(schema) ?? [], (one) => !isPlainObject(one) || finite.has(one))
  // Parents come first in `nodes`, and depend on their children: few passes are needed.
  const bottomUp = [...nodes].reverse()
  for (let count = -1; count < finite.size; ) {
    count = finite.size
    for (const { schema } of bottomUp) if (!blockerOf(schema)) finite.add(schema)
  }
  const endless = nodes.find(({ schema }) => !finite.has(schema))
  if (!endless) return undefined
  const seen = new Set<JsonObject>()
  let last = endless.schema
  for (let next: JsonObject | undefined = last; next && !seen.has(next); next = blockerOf(last)) {
    seen.add(next)
    last = next
  }
  const place = nodes.find(({ schema }) => schema === last) ?? endless
  return { pointer: pointerOf(place), isRoot: endless === root }
}

/** A schema that every valid value must satisfy, in whole or in part, and that is not known to be finite. */
function findBlocker(
  schema: JsonObject,
  targets: readonly Json[],
  hasEnd: (schema: unknown) => boolean,
): JsonObject | undefined {
  const { allOf, anyOf, oneOf } = schema
  const firstBlocked = (parts: readonly unknown[]) =>
    parts.find((part) => !hasEnd(part)) as JsonObject | undefined
  const conjunct = firstBlocked([...targets, ...asList(allOf)])
  if (conjunct) return conjunct
  for (const union of [anyOf, oneOf])
    if (Array.isArray(union) && union.length > 0 && !union.some(hasEnd)) return firstBlocked(union)
  const types = schema.type === undefined ? [] : [schema.type].flat()
  if (types.length === 0 || 'const' in schema || 'enum' in schema) return undefined
  const blockers = types.map((type) => firstBlocked(listRequired(schema, type)))
  return blockers.includes(undefined) ? undefined : blockers[0]
}

/** The schemas of the properties or items that every object or array has. */
function listRequired(schema: JsonObject, type: Json): readonly unknown[] {
  const { properties, required, prefixItems, items, minItems } = schema
  if (type === 'object' && isPlainObject(properties))
    return asList(required).flatMap((name) =>
      Object.hasOwn(properties, String(name)) ? [properties[String(name)]] : [],
    )
  if (type !== 'array' || typeof minItems !== 'number') return []
  const first = asList(prefixItems)
  return minItems > first.length ? [...first, items] : first.slice(0, minItems)
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
