import type { SlowPattern } from '../capability/contract.ts'
import { findAmbiguity } from '../patterns/find-ambiguity.ts'

/** Regular expressions of code-first schemas run in V8, which backtracks: reports dangerous ones. */
export function findSlowPatterns(pattern: RegExp, pointer: string): readonly SlowPattern[] {
  const growth = findAmbiguity(pattern)
  return growth === undefined ? [] : [{ pointer, growth, pattern: String(pattern) }]
}

export const toSlowPatternMessage = (name: string, { growth, pattern }: SlowPattern): string =>
  `${name}: matching ${pattern} can take time that is ${growth} in the length of the text, and blocks all calls meanwhile. Anchor it with ^, remove nested and adjacent repetitions of the same characters, or write this schema as JSON Schema, whose patterns run in linear time.`
