import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { Fields } from './document.ts'

/** The schemas that can apply to one value: references are followed, and combinations taken apart. */
export function toApplied(schemas: readonly unknown[], { $defs }: JsonObject): readonly Fields[] {
  const applied = new Set<Fields>()
  const pending = [...schemas]
  while (pending.length > 0) {
    const schema = pending.pop()
    if (!isPlainObject(schema) || applied.has(schema)) continue
    applied.add(schema)
    const name = String(schema.$ref ?? '').replace('#/$defs/', '')
    if (isPlainObject($defs) && Object.hasOwn($defs, name)) pending.push($defs[name])
    for (const parts of [schema.allOf, schema.anyOf, schema.oneOf])
      if (Array.isArray(parts)) for (const part of parts) pending.push(part)
  }
  return [...applied]
}

/** The schemas of a property or of an item. */
export const toChildren = (applied: readonly Fields[], key: string | number): readonly unknown[] =>
  applied.map(({ properties, additionalProperties, prefixItems, items }) => {
    if (typeof key === 'number') return (Array.isArray(prefixItems) && prefixItems[key]) || items
    return isPlainObject(properties) && Object.hasOwn(properties, key)
      ? properties[key]
      : additionalProperties
  })

export const typesOf = ({ type }: Fields): readonly unknown[] =>
  type === undefined ? [] : [type].flat()
