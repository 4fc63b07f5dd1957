import type { JsonObject } from '../capability/json.ts'
import { mapSchema } from '../json/schema/map-schema.ts'
import { referencesOf } from '../json/schema/references.ts'

/**
 * An output schema without fractional `multipleOf`: clients divide without regard to rounding, so that a
 * result of 19.99 would be no multiple of 0.01.
 */
export const withoutFractions = (schema: JsonObject): JsonObject =>
  referencesOf(schema).nodes.some((node) => isFractional(node.schema))
    ? mapSchema(schema, (one) => {
        const { multipleOf: _, ...rest } = one
        return isFractional(one) ? rest : one
      })
    : schema

const isFractional = ({ multipleOf }: JsonObject): boolean =>
  multipleOf !== undefined && !Number.isInteger(multipleOf)
