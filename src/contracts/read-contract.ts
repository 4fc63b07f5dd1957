import type { ContractReading } from '../capability/contract.ts'
import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import { referencesOf } from '../json/schema/references.ts'
import { contractFromJsonSchema } from './contract-from-json-schema.ts'
import { contractFromStandardSchema, isStandardSchema } from './contract-from-standard-schema.ts'
import { type EndlessSchema, findEndlessSchema } from './endless-schema.ts'
import { findSchemaFault, withObjectRoot } from './schema-fault.ts'
import { findShapeFault } from './schema-shape.ts'
import { withoutFractions } from './shown-output.ts'
import { withDepthIssue } from './stack-overflow.ts'
import { contractFromZod, isZod, isZodShape, toZodObject } from './zod/contract-from-zod.ts'
import { contractFromZod3, isZod3, isZod3Shape, toZod3Object } from './zod/contract-from-zod3.ts'

/** Schemas with defaults or transforms differ: `input` is before parsing, `output` after. */
export type Direction = 'input' | 'output'

/**
 * Turns a schema into a contract. Accepts Zod 4 and 3, any Standard Schema and JSON Schema of any draft;
 * returns a fault for schemas that cannot be served. An input schema is shown with `"type": "object"`.
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
    const { contract } = reading
    const shapeFault = contract.schema === schema ? undefined : findShapeFault(contract.schema)
    const fault = shapeFault ?? findSchemaFault(contract.schema)
    if (fault !== undefined) return { fault }
    const shown =
      direction === 'output' ? withoutFractions(contract.schema) : withObjectRoot(contract.schema)
    if (isFault(shown)) return shown
    const endless = findEndlessSchema(referencesOf(shown))
    if (endless?.isRoot) return { fault: toEndlessText(endless) }
    const remarks = endless ? [...reading.remarks, toEndlessText(endless)] : reading.remarks
    const parse = contract.takesLiveValues ? withDepthIssue(contract.parse) : contract.parse
    return { ...reading, remarks, contract: { ...contract, schema: shown, parse } }
  } catch (error) {
    return { fault: `the schema cannot be converted to JSON Schema: ${(error as Error).message}` }
  }
}

const toEndlessText = ({ pointer }: EndlessSchema): string =>
  `${pointer || 'the schema'} requires itself again, so that only a value without an end would be valid; make it optional or nullable`

function convert(schema: unknown, direction: Direction): ContractReading {
  if (isZod(schema)) return contractFromZod(schema, direction)
  if (isZod3(schema)) return contractFromZod3(schema, direction)
  if (isStandardSchema(schema)) return contractFromStandardSchema(schema, direction)
  if (isZodShape(schema)) return contractFromZod(toZodObject(schema), direction)
  if (isZod3Shape(schema)) return contractFromZod3(toZod3Object(schema), direction)
  if (isPlainObject(schema)) return contractFromJsonSchema(schema as JsonObject, direction)
  return { fault: 'the schema is neither a Zod schema, a Standard Schema nor a JSON Schema object' }
}
