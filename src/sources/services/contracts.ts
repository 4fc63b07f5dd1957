import type { Contract } from '../../capability/contract.ts'
import type { JsonObject } from '../../capability/json.ts'
import { ownContract } from '../../contracts/own-contract.ts'

/** Accepts any object, for capabilities that ignore their arguments. */
export const anyObject: Contract = ownContract({ type: 'object' })

/** Shown but not enforced: a state is sent as it is, even if it violates its schema. */
export const toUncheckedContract = (schema: JsonObject): Contract => ({
  schema,
  parse: (value) => ({ ok: true, value }),
})
