import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'

/**
 * `true` and `false` as the schema of a property, written as objects. 2025 allows only objects there, and
 * its official client refuses the whole list because of one other.
 */
export function withObjectProperties(schema: JsonObject): JsonObject {
  const { properties } = schema
  if (!isPlainObject(properties)) return schema
  const entries = Object.entries(properties as JsonObject)
  if (!entries.some(([, property]) => typeof property === 'boolean')) return schema
  const toObject = (property: JsonObject[string]) =>
    property === true ? {} : property === false ? { not: {} } : property
  return {
    ...schema,
    properties: Object.fromEntries(entries.map(([name, property]) => [name, toObject(property)])),
  }
}
