import type { Contract } from '../../capability/contract.ts'
import { isPlainObject, type JsonObject } from '../../capability/json.ts'
import { readContract } from '../../contracts/read-contract.ts'
import type { ServiceAction } from './service.ts'
import { toJsonSchema } from './to-json-schema.ts'

/** What an action takes: the contract that is shown, and how its input becomes arguments. */
export interface ActionInput {
  readonly contract: Contract
  readonly toArguments: (input: Readonly<Record<string, unknown>>) => readonly unknown[]
  /** Pointers to keywords that only the service's project knows. */
  readonly stripped: readonly string[]
}

export type InputReading = ActionInput | { readonly fault: string }

/**
 * A protocol whose arguments are an object, and actions whose inputs are anything: no parameter is an
 * empty object, one object is itself, everything else is an object of parameters by name.
 */
export function toInput(action: Pick<ServiceAction, 'schema' | 'parameters'>): InputReading {
  const declared = toParameters(action)
  if (!declared) return { fault: 'its parameters are not a list' }
  const schemas: JsonObject[] = []
  const stripped: string[] = []
  for (const [index, parameter] of declared.schemas.entries()) {
    const reading = toJsonSchema(parameter)
    const place = declared.toPointer(index)
    if ('fault' in reading) return { fault: `${place}: ${reading.fault}` }
    schemas.push(reading.schema)
    for (const pointer of reading.stripped) stripped.push(`${place}${pointer}`)
  }
  const [only] = schemas
  if (schemas.length === 0) return toReading(nothing, () => [], stripped)
  if (only && schemas.length === 1 && only.type === 'object')
    return toReading(only, (input) => [input], stripped)
  const names = toNames(schemas)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(schemas.map((one, index) => [names[index], one])),
    required: names,
    additionalProperties: false,
  }
  return toReading(schema, (input) => names.map((name) => input[name]), stripped)
}

const nothing: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

/** `schema: false`, or none at all, is an action without input. */
function toParameters({ schema, parameters }: Pick<ServiceAction, 'schema' | 'parameters'>) {
  if (parameters !== undefined)
    return Array.isArray(parameters)
      ? { schemas: parameters, toPointer: (index: number) => `/parameters/${index}` }
      : undefined
  const isAbsent = schema === undefined || schema === false || schema === null
  return { schemas: isAbsent ? [] : [schema], toPointer: () => '/schema' }
}

/** A parameter's title, where that can be a name; all by number where two would be called the same. */
function toNames(schemas: readonly JsonObject[]): readonly string[] {
  const names = schemas.map(({ title }, index) =>
    typeof title === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(title) && title !== '__proto__'
      ? title
      : `arg${index}`,
  )
  return new Set(names).size === names.length ? names : schemas.map((_, index) => `arg${index}`)
}

function toReading(
  schema: JsonObject,
  toArguments: ActionInput['toArguments'],
  stripped: readonly string[],
): InputReading {
  const reading = readContract(schema, 'input')
  if ('fault' in reading) return reading
  return {
    contract: reading.contract,
    toArguments: (input) => toArguments(asRecord(input)),
    stripped,
  }
}

const asRecord = (input: unknown): Record<string, unknown> => (isPlainObject(input) ? input : {})
