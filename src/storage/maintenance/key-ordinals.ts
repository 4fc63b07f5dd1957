import type { Value } from '../sqlite/sqlite.ts'

const prefixLength = 6
const base = 128
const maxOrdinal = base ** prefixLength

/** The place of a key in the order of keys: an integer itself, or the first characters of a text as digits. */
export function toOrdinal(key: Value): number {
  if (typeof key === 'number') return key
  const bytes = typeof key === 'string' ? Buffer.from(key) : (key ?? new Uint8Array())
  let ordinal = 0
  for (let index = 0; index < prefixLength; index++)
    ordinal = ordinal * base + Math.min(bytes[index] ?? 0, base - 1)
  return ordinal
}

/** A text with this place; not valid as a key, but as a bound for one. */
export function toText(ordinal: number): string {
  let text = ''
  for (let rest = ordinal, index = 0; index < prefixLength; index++) {
    text = String.fromCharCode(rest % base) + text
    rest = Math.floor(rest / base)
  }
  return text.replace(/\0+$/, '')
}

/** The first ordinal after `from` that can be read: galloping, then binary search. */
export function findReadableOrdinal(
  from: number | undefined,
  isReadable: (ordinal: number) => boolean,
): number | undefined {
  const start = from ?? -1
  let step = 1
  while (!isReadable(start + step)) {
    step *= 2
    if (start + step > maxOrdinal) return undefined
  }
  let [low, high] = [start + Math.floor(step / 2), start + step]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isReadable(middle)) high = middle
    else low = middle
  }
  return high
}
