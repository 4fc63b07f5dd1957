import type { Json, JsonObject } from '../capability/json.ts'
import { typesOf } from './applied-schemas.ts'
import type { Fields } from './document.ts'

/** Integers of 16 digits or more, which may be beyond 2^53. Zeros before a number are not valid JSON. */
const pattern = '^-?[1-9]\\d{15,}$'

/**
 * Lets an integer be a text of its digits, too, as answers show it: JSON.parse of clients and servers rounds
 * numbers beyond 2^53, and would send another id.
 */
export function withDigits(schema: JsonObject): JsonObject {
  const types = typesOf(schema)
  const isInteger = types.every((type) => type === 'integer' || type === 'null')
  const isSmall = Number(schema.maximum ?? Number.POSITIVE_INFINITY) <= Number.MAX_SAFE_INTEGER
  if (!types.includes('integer') || !isInteger || isSmall || schema.enum || 'const' in schema)
    return schema
  return { ...schema, type: [...types, 'string'] as Json, pattern }
}

/** Formats of integers that may be beyond 2^53. */
export const isLargeFormat = (format: unknown): boolean => format === 'int64' || format === 'uint64'

export const takesDigits = (schema: Fields): boolean =>
  schema.pattern === pattern && typesOf(schema).includes('integer')

export const isDigits = (text: string): boolean => new RegExp(pattern).test(text)
