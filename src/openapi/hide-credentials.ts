import { isFault } from '../capability/fault.ts'
import type { JsonObject } from '../capability/json.ts'
import { isPlainObject } from '../json/is-plain-object.ts'
import type { ApiTarget } from './api-client.ts'
import type { Operation } from './compile-operation.ts'
import { type SchemeUse, toPlace } from './security/schemes.ts'

/** Many documents declare a credential as a parameter, too: a model must not be asked for what is sent anyway. */
export const hideCredentials = (target: ApiTarget): ApiTarget =>
  isFault(target.security)
    ? target
    : { ...target, operation: withoutCredentials(target.operation, target.security) }

/** The operation without the parameters that are credentials of these schemes. */
export function withoutCredentials(operation: Operation, schemes: readonly SchemeUse[]): Operation {
  const places = new Set(schemes.map(toPlace))
  const isCredential = ({ place, name }: Operation['parameters'][number]) =>
    places.has(`${place} ${place === 'header' ? name.toLowerCase() : name}`)
  const hidden = new Set(operation.parameters.filter(isCredential).map((one) => one.argument))
  if (hidden.size === 0) return operation
  return {
    ...operation,
    parameters: operation.parameters.filter(({ argument }) => !hidden.has(argument)),
    input: withoutProperties(operation.input, hidden),
  }
}

function withoutProperties(input: JsonObject, hidden: ReadonlySet<string>): JsonObject {
  const { properties, required, ...others } = input
  const shown = Object.entries(isPlainObject(properties) ? (properties as JsonObject) : {})
  const names = (Array.isArray(required) ? required : []).filter((name) => !hidden.has(name))
  return {
    ...others,
    properties: Object.fromEntries(shown.filter(([name]) => !hidden.has(name))),
    ...(names.length > 0 && { required: names }),
  }
}
