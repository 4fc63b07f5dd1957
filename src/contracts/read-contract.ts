import type { ContractReading } from '../capability/contract.ts'
import { isPlainObject, type JsonObject } from '../capability/json.ts'
import { contractFromJsonSchema } from './contract-from-json-schema.ts'
import { contractFromStandardSchema, isStandardSchema } from './contract-from-standard-schema.ts'
import { contractFromZod, isZod, isZodShape, toZodObject } from './contract-from-zod.ts'
import { findSchemaFault } from './schema-fault.ts'

/** Which side of a schema is meant: what goes in before defaults, or what comes out after. */
export type Direction = 'input' | 'output'

/** Makes a contract of whatever a developer calls a schema: Zod, Standard Schema, JSON Schema. */
export function readContract(schema: unknown, direction: Direction): ContractReading {
  try {
    const reading = convert(schema, direction)
    if ('fault' in reading) return reading
    const fault = findSchemaFault(reading.contract.schema, direction)
    return fault === undefined ? reading : { fault }
  } catch (error) {
    return { fault: `it cannot be shown as JSON Schema: ${(error as Error).message}` }
  }
}

function convert(schema: unknown, direction: Direction): ContractReading {
  if (isZod(schema)) return contractFromZod(schema, direction)
  if (isStandardSchema(schema)) return contractFromStandardSchema(schema, direction)
  if (isZodShape(schema)) return contractFromZod(toZodObject(schema), direction)
  if (isPlainObject(schema)) return contractFromJsonSchema(schema as JsonObject, direction)
  return { fault: 'it is neither a Zod schema, a Standard Schema nor a JSON Schema object' }
}
