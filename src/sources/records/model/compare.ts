import type { Comparable } from './stream.ts'

/** Compares as SQLite does: numbers by value, strings by their UTF-8 bytes. */
export const compare = (a: Comparable, b: Comparable): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : compareTexts(String(a), String(b))

function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const one = a.charCodeAt(at)
    const other = b.charCodeAt(at)
    if (one !== other) return toRank(one) - toRank(other)
  }
  return a.length - b.length
}

/** Ranks surrogates above U+E000–U+FFFF: UTF-16 order becomes code-point order. */
const toRank = (unit: number): number =>
  unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800
