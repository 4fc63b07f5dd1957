import type { ContractReading } from '../capability/contract.ts'
import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { contractFromJsonSchema } from './contract-from-json-schema.ts'
import { contractFromStandardSchema, isStandardSchema } from './contract-from-standard-schema.ts'
import { contractFromZod, isZod, isZodShape, toZodObject } from './contract-from-zod.ts'
import { findSchemaFault } from './schema-fault.ts'

/** Schemas with defaults or transforms differ: `input` is before parsing, `output` after. */
export type Direction = 'input' | 'output'

/**
 * Turns a schema into a contract. Accepts Zod, any Standard Schema and JSON Schema 2020-12; returns
 * a fault for schemas that MCP clients would reject.
 *
 * @example
 * ```ts
 * import { readContract, z } from 'drawbridge-mcp'
 *
 * const reading = readContract(z.object({ city: z.string() }), 'input')
 * if ('fault' in reading) throw new Error(reading.fault)
 * const parsed = await reading.contract.parse({ city: 'Oslo' })
 * // { ok: true, value: { city: 'Oslo' } }
 * ```
 */
export function readContract(schema: unknown, direction: Direction): ContractReading {
  try {
    const reading = convert(schema, direction)
    if (isFault(reading)) return reading
    const fault = findSchemaFault(reading.contract.schema, direction)
    return fault === undefined ? reading : { fault }
  } catch (error) {
    return { fault: `the schema cannot be converted to JSON Schema: ${(error as Error).message}` }
  }
}

function convert(schema: unknown, direction: Direction): ContractReading {
  if (isZod(schema)) return contractFromZod(schema, direction)
  if (isStandardSchema(schema)) return contractFromStandardSchema(schema, direction)
  if (isZodShape(schema)) return contractFromZod(toZodObject(schema), direction)
  if (isPlainObject(schema)) return contractFromJsonSchema(schema as JsonObject, direction)
  return { fault: 'the schema is neither a Zod schema, a Standard Schema nor a JSON Schema object' }
}
