/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** True for a plain `{…}` object; false for arrays, dates and class instances. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Compares by UTF-16 code unit, so that the order does not depend on the machine's locale. */
export const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The parsed value, or `undefined` when the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Omits keys whose value is `undefined`, so that `exactOptionalPropertyTypes` accepts the rest. */
export function dropUndefined<T extends object>(record: T): Defined<T> {
  const defined: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(record)) if (value !== undefined) defined[key] = value
  return defined as Defined<T>
}

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}
