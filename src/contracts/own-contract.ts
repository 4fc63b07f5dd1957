import type { Contract } from '../capability/contract.ts'
import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { readContract } from './read-contract.ts'

/** The contract of a schema that is part of this program. Read at the first call: loading Ajv would delay the start. */
export function ownContract(schema: JsonObject): Contract {
  let contract: Contract | undefined
  return {
    schema,
    parse(value) {
      contract ??= read(schema)
      return contract.parse(value)
    },
  }
}

function read(schema: JsonObject): Contract {
  const reading = readContract(schema, 'input')
  if (isFault(reading)) throw new Error(reading.fault)
  return reading.contract
}
