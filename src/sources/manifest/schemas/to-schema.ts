import type { JsonObject } from '../../../capability/json.ts'
import { isPlainObject } from '../../../json/is-plain-object.ts'
import type { ManifestSchema } from '../reading/manifest-shape.ts'

/** The argument that carries an input which is not an object: MCP arguments are always objects. */
export const valueArgument = 'value'

/** The translation rules of the AgentHub mapping: schemas are copied, references are wrapped. */
export function toInputSchema(schema: ManifestSchema): JsonObject {
  const copy = toOutputSchema(schema)
  return copy.type === 'object' ? copy : toWrapper(copy)
}

/** An output may have any type; a reference gets the object root that clients require. */
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
