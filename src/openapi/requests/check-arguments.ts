import type { Fault } from '../../capability/fault.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { Operation } from '../compile-operation.ts'

/** The key of the call, which is sent as a header. */
const keyArgument = 'idempotency_key'

/** The arguments of an operation. */
export const listArguments = ({ parameters, body }: Operation) => [
  ...parameters,
  ...(body ? [body] : []),
]

/**
 * For inputs that another schema than the operation's own has accepted: an argument that the operation does
 * not have would be lost, and one that it requires would be missing.
 */
export function checkArguments(operation: Operation, input: unknown): Fault | undefined {
  const values = isPlainObject(input) ? input : {}
  const known = listArguments(operation)
  const names = new Set(known.map(({ argument }) => argument))
  const unknown = Object.keys(values).find((name) => name !== keyArgument && !names.has(name))
  if (unknown !== undefined)
    return {
      fault: `The API has no argument ${JSON.stringify(unknown)} here, so that it would be lost. It has: ${[...names].join(', ') || 'none'}.`,
    }
  const missing = known.find(
    ({ argument, isRequired }) => isRequired && values[argument] === undefined,
  )
  return missing && { fault: `The API requires the argument ${JSON.stringify(missing.argument)}.` }
}
