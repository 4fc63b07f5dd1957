import type { Contract } from '../../capability/contract.ts'
import { type Fault, isFault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { readContract } from '../../contracts/read-contract.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import type { ServiceAction } from './service.ts'
import { toJsonSchema } from './to-json-schema.ts'

/** The input contract of an action, and how an input becomes arguments. */
export interface ActionInput {
  readonly contract: Contract
  readonly toArguments: (input: Readonly<Record<string, unknown>>) => readonly unknown[]
  /** JSON pointers to keywords that are not JSON Schema and were removed. */
  readonly strippedKeywords: readonly string[]
}

export type InputReading = ActionInput | Fault

/**
 * MCP arguments are one object, actions take any number of values. No parameter becomes an empty
 * object, a single object parameter is used as it is, others become properties by name.
 */
export function toInput(action: Pick<ServiceAction, 'schema' | 'parameters'>): InputReading {
  const parameters = toParameters(action)
  if (!parameters) return { fault: 'its parameters are not a list' }
  const schemas: JsonObject[] = []
  const strippedKeywords: string[] = []
  for (const [index, parameter] of parameters.schemas.entries()) {
    const reading = toJsonSchema(parameter)
    const pointer = parameters.toPointer(index)
    if (isFault(reading)) return { fault: `${pointer}: ${reading.fault}` }
    schemas.push(reading.schema)
    for (const keyword of reading.strippedKeywords) strippedKeywords.push(`${pointer}${keyword}`)
  }
  const [onlySchema] = schemas
  if (schemas.length === 0) return toReading(noParameters, () => [], strippedKeywords)
  if (onlySchema && schemas.length === 1 && onlySchema.type === 'object')
    return toReading(onlySchema, (input) => [input], strippedKeywords)
  const names = toNames(schemas)
  const schema = {
    type: 'object',
    properties: Object.fromEntries(schemas.map((parameter, index) => [names[index], parameter])),
    required: names,
    additionalProperties: false,
  }
  return toReading(schema, (input) => names.map((name) => input[name]), strippedKeywords)
}

const noParameters: JsonObject = { type: 'object', properties: {}, additionalProperties: false }

/** An action with `schema: false` or without a schema has no input. */
function toParameters({ schema, parameters }: Pick<ServiceAction, 'schema' | 'parameters'>) {
  if (parameters !== undefined)
    return Array.isArray(parameters)
      ? { schemas: parameters, toPointer: (index: number) => `/parameters/${index}` }
      : undefined
  const isAbsent = schema === undefined || schema === false || schema === null
  return { schemas: isAbsent ? [] : [schema], toPointer: () => '/schema' }
}

/** Titles that are valid names, `arg0`… otherwise; numbers for all if two titles are equal. */
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
  strippedKeywords: readonly string[],
): InputReading {
  const reading = readContract(schema, 'input')
  if (isFault(reading)) return reading
  return {
    contract: reading.contract,
    toArguments: (input) => toArguments(asRecord(input)),
    strippedKeywords,
  }
}

const asRecord = (input: unknown): Record<string, unknown> => (isPlainObject(input) ? input : {})
