import type { Contract } from '../../capability/contract.ts'
import { isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { readContract } from '../../contracts/read-contract.ts'

export function toContract(schema: JsonObject): Contract {
  const reading = readContract(schema, 'input')
  if (isFault(reading)) throw new Error(reading.fault)
  return reading.contract
}

/** Accepts any object, for capabilities that ignore their arguments. */
export const anyObject: Contract = toContract({ type: 'object' })

/** Shown but not enforced: a state is sent as it is, even if it violates its schema. */
export const toUncheckedContract = (schema: JsonObject): Contract => ({
  schema,
  parse: (value) => ({ ok: true, value }),
})
