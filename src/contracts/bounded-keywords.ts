import { runToEnd, type Sliced, WorkLimit } from '../patterns/work-limit.ts'

/** Counts the work of the validation that is running: only one validation, or one slice, runs at a time. */
export const validationWork = new WorkLimit()

/** Counts code points, as `minLength` requires, only when the number of code units cannot decide. */
export const hasAtLeast = (text: string, minimum: number): boolean =>
  text.length >= 2 * minimum || (text.length >= minimum && countCodePoints(text) >= minimum)

export const hasAtMost = (text: string, maximum: number): boolean =>
  text.length <= maximum || (text.length <= 2 * maximum && countCodePoints(text) <= maximum)

function countCodePoints(text: string): number {
  validationWork.spend(text.length / 8)
  let count = 0
  for (let at = 0; at < text.length; at++) {
    if (isHighSurrogate(text.charCodeAt(at)) && isLowSurrogate(text.charCodeAt(at + 1))) at++
    count++
  }
  return count
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** 19.99 is a multiple of 0.01, although their quotient is 1998.9999999999998: it may be off by rounding. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0
  const quotient = value / divisor
  return Math.abs(quotient - Math.round(quotient)) <= 2 * Number.EPSILON * Math.abs(quotient)
}

/** Finds a scalar by its hash; objects, which are rare in an enum, one by one. */
export function toEnumTest(
  allowed: readonly unknown[],
  isEqual: (a: unknown, b: unknown) => boolean,
): (value: unknown) => boolean {
  const scalars = new Set(allowed.filter(isScalar))
  const objects = allowed.filter((value) => !isScalar(value))
  return (value) => {
    if (isScalar(value)) return scalars.has(value)
    validationWork.spend(10 * objects.length)
    return objects.some((object) => isEqual(object, value))
  }
}

/** Finds two equal items in linear time: objects are compared by their canonical text. */
export const findDuplicate = (items: readonly unknown[]): Duplicate | undefined =>
  runToEnd(findDuplicateInSlices(items))

/** The indexes of two equal items. */
type Duplicate = readonly [number, number]

export function* findDuplicateInSlices(items: readonly unknown[]): Sliced<Duplicate | undefined> {
  const scalars = new Map<unknown, number>()
  const texts = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    validationWork.spend(10)
    if (validationWork.isPauseDue) yield
    const [indexes, key] = isScalar(item) ? [scalars, item] : [texts, yield* toCanonicalText(item)]
    const former = indexes.get(key as string)
    if (former !== undefined) return [index, former]
    indexes.set(key as string, index)
  }
  return undefined
}

const isScalar = (value: unknown): value is string | number | boolean | null | undefined =>
  typeof value !== 'object' || value === null

function* toCanonicalText(value: object): Sliced<string> {
  const isArray = Array.isArray(value)
  let text = ''
  for (const key of isArray ? value.keys() : Object.keys(value).sort()) {
    validationWork.spend(30)
    if (validationWork.isPauseDue) yield
    const child = (value as Record<string, unknown>)[key]
    const childText = isScalar(child) ? JSON.stringify(child) : yield* toCanonicalText(child)
    text += isArray ? `${childText},` : `${JSON.stringify(key)}:${childText},`
  }
  return isArray ? `[${text}]` : `{${text}}`
}

/** A copy of plain JSON: several times faster than `structuredClone`. */
export function copyJson(value: unknown): unknown {
  if (isScalar(value)) return value
  validationWork.spend(20)
  if (Array.isArray(value)) return value.map(copyJson)
  const copy = {}
  for (const [key, child] of Object.entries(value)) setOwn(copy, key, copyJson(child))
  return copy
}

export function* copyJsonInSlices(value: unknown): Sliced<unknown> {
  if (isScalar(value)) return value
  const isArray = Array.isArray(value)
  const copy = isArray ? [] : {}
  for (const key of isArray ? value.keys() : Object.keys(value)) {
    validationWork.spend(20)
    if (validationWork.isPauseDue) yield
    const child = (value as Record<string, unknown>)[key]
    setOwn(copy, key, isScalar(child) ? child : yield* copyJsonInSlices(child))
  }
  return copy
}

function setOwn(target: object, key: string | number, value: unknown): void {
  // An assignment to __proto__ would set the prototype.
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, writable: true })
  else (target as Record<string, unknown>)[key] = value
}
