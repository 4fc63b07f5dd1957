import type { Fault } from '../../capability/fault.ts'
import type { JsonObject } from '../../capability/json.ts'
import { isPlainObject } from '../../json/is-plain-object.ts'
import { toApplied, toChildren, typesOf } from '../applied-schemas.ts'
import type { Operation } from '../compile-operation.ts'
import { isDigits, takesDigits } from '../digit-texts.ts'
import { listArguments } from './check-arguments.ts'

/** Integers that were rounded when the call was read would name something else: they are refused. */
export function findRounded(
  operation: Operation,
  values: Readonly<Record<string, unknown>>,
): Fault | undefined {
  const { input, body } = operation
  for (const { argument, schema } of listArguments(operation)) {
    const value = Object.hasOwn(values, argument) ? values[argument] : undefined
    const rounded = hasUnsafe(value) ? findRoundedIn(value, [schema], input) : undefined
    const fault = `"${argument}" has an integer beyond 2^53, which is rounded as a number`
    if (rounded === 'takes digits')
      return { fault: `${fault}: send its digits as a text, such as "12345678901234567890".` }
    if (rounded === 'integer' && argument !== body?.argument) return { fault: `${fault}.` }
  }
  return undefined
}

const isUnsafe = (value: unknown): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value)

function hasUnsafe(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isUnsafe(value)
  return Object.values(value).some(hasUnsafe)
}

/** What the schema of an integer that was rounded takes. */
function findRoundedIn(
  value: unknown,
  schemas: readonly unknown[],
  input: JsonObject,
): 'takes digits' | 'integer' | undefined {
  const applied = toApplied(schemas, input)
  if (isUnsafe(value)) {
    if (applied.some(takesDigits)) return 'takes digits'
    const types = new Set(applied.flatMap(typesOf))
    return types.has('integer') && !types.has('number') ? 'integer' : undefined
  }
  for (const [key, child] of listChildren(value)) {
    const found = findRoundedIn(child, toChildren(applied, key), input)
    if (found) return found
  }
  return undefined
}

/** JSON in which texts of digits are numbers where the schema has an integer. */
export function writeJson(value: unknown, schema: unknown, input: JsonObject): string {
  const json = JSON.stringify(value)
  return /"-?[1-9]\d{15,}"/.test(json) ? write(value, [schema], input) : json
}

function write(value: unknown, schemas: readonly unknown[], input: JsonObject): string {
  const applied = toApplied(schemas, input)
  if (typeof value === 'string' && isDigits(value)) {
    const isText = applied.some((one) => typesOf(one).includes('string') && !takesDigits(one))
    return applied.some(takesDigits) && !isText ? value : JSON.stringify(value)
  }
  const texts = listChildren(value).map(([key, child]) => {
    const text = write(child, toChildren(applied, key), input)
    return typeof key === 'number' ? text : `${JSON.stringify(key)}:${text}`
  })
  if (Array.isArray(value)) return `[${texts.join(',')}]`
  return isPlainObject(value) ? `{${texts.join(',')}}` : JSON.stringify(value)
}

const listChildren = (value: unknown): readonly (readonly [string | number, unknown])[] =>
  Array.isArray(value)
    ? [...value.entries()]
    : isPlainObject(value)
      ? Object.entries(value).filter(([, child]) => child !== undefined)
      : []
