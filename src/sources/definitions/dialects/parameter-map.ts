import { dropUndefined } from '../../../json/drop-undefined.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { Shape } from './dialect.ts'
import { isText } from './shape.ts'

/** A flat map of parameters: every value is one, and none of the keys makes it a JSON Schema. */
export const isParameterMap = (schema: unknown): schema is Readonly<Record<string, Shape>> =>
  isPlainObject(schema) &&
  Object.values(schema).every(
    (parameter) =>
      isPlainObject(parameter) && (isText(parameter.type) || isText(parameter.description)),
  )

/** Parameters are required unless they are `optional`, have a default, or say `required: false`. */
export function fromParameterMap(parameters: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(parameters)
  const required = entries
    .filter(
      ([, { optional, required, default: value }]) =>
        optional !== true && required !== false && value === undefined,
    )
    .map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, { optional: _, required, ...schema }]) => [
        name,
        // A list is a keyword of the schema of an object.
        dropUndefined({ ...schema, required: Array.isArray(required) ? required : undefined }),
      ]),
    ),
    ...(required.length > 0 && { required }),
  }
}
