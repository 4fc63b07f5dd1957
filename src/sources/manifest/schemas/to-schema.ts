import { isPlainObject, type JsonObject } from '../../../capability/json.ts'
import type { ManifestSchema } from '../reading/manifest-shape.ts'

/** Under this name goes an input that is no object, because clients only send objects. */
export const valueArgument = 'value'

/** The five translation rules: copied as it is, or a wrapper around the reference. */
export function toInputSchema(schema: ManifestSchema): JsonObject {
  const printed = toOutputSchema(schema)
  return printed.type === 'object' ? printed : toWrapper(printed)
}

/** An answer may be anything; only a reference needs the object root that clients demand. */
export const toOutputSchema = (schema: ManifestSchema): JsonObject =>
  isReference(schema) ? { type: 'object', $ref: schema.$ref_uri } : (schema as JsonObject)

export const toWrapper = (schema: JsonObject): JsonObject => ({
  type: 'object',
  properties: { [valueArgument]: schema },
  required: [valueArgument],
  additionalProperties: false,
})

export const isReference = (
  schema: ManifestSchema,
): schema is Extract<ManifestSchema, { $ref_uri: string }> =>
  isPlainObject(schema) && '$ref_uri' in schema && Object.keys(schema).length === 1

/** Both at once: nobody can say which of them was meant. */
export const isAmbiguous = (schema: ManifestSchema): boolean =>
  '$ref_uri' in schema && Object.keys(schema).length > 1
