import type { Contract } from '../../capability/contract.ts'
import type { JsonObject } from '../../capability/json.ts'
import { readContract } from '../../contracts/read-contract.ts'

export function toContract(schema: JsonObject): Contract {
  const reading = readContract(schema, 'input')
  if ('fault' in reading) throw new Error(reading.fault)
  return reading.contract
}

/** Arguments that nobody will look at. */
export const anyObject: Contract = toContract({ type: 'object' })

/** Shown and not enforced: a state is what it is, and who reads it must see that. */
export const toUncheckedContract = (schema: JsonObject): Contract => ({
  schema,
  parse: (value) => ({ ok: true, value }),
})
