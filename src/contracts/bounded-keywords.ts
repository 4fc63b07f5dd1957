import { WorkLimit } from '../patterns/work-limit.ts'

/** Counts the work of the validation that is running: validation is synchronous, so one suffices. */
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

/** Finds two equal items in linear time: objects are compared by their canonical text. */
export function findDuplicate(items: readonly unknown[]): readonly [number, number] | undefined {
  const scalars = new Map<unknown, number>()
  const texts = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    validationWork.spend(10)
    const isScalar = typeof item !== 'object' || item === null
    const [indexes, key] = isScalar ? [scalars, item] : [texts, toCanonicalText(item)]
    const former = indexes.get(key as string)
    if (former !== undefined) return [index, former]
    indexes.set(key as string, index)
  }
  return undefined
}

function toCanonicalText(value: unknown): string {
  validationWork.spend(30)
  if (Array.isArray(value)) return `[${value.map(toCanonicalText).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, child]) => `${JSON.stringify(key)}:${toCanonicalText(child)}`).join()}}`
}

/** A copy of plain JSON: several times faster than `structuredClone`. */
export function copyJson(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  validationWork.spend(20)
  if (Array.isArray(value)) return value.map(copyJson)
  const copy: Record<string, unknown> = {}
  for (const [key, child] of Object.entries(value)) {
    // An assignment to __proto__ would set the prototype.
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: child, enumerable: true, writable: true })
    else copy[key] = copyJson(child)
  }
  return copy
}
