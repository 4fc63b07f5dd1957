import type { Data } from '../model/record-data.ts'
import type { Field } from '../model/stream.ts'
import { eachWord, splitText } from '../model/words.ts'

/** Matches in these fields count twice. */
const headingFields = new Set(['title', 'subject', 'name', 'headline'])

export interface Score {
  readonly score: number
  /** Fields with a match; the best one first. */
  readonly matchedFields: readonly Field[]
  /** Index of the first match in the best field. */
  readonly at: number
  /** `false` for a false positive of the word index. */
  readonly hasAll: boolean
}

/** Characters scanned between two yields, at least. */
const chunkLength = 8192

/**
 * Term frequency score with saturation and length normalization, from granted text alone. Rounded to
 * an integer, so that scores are the same on every machine. Yields when `isEnough` says so.
 */
export function* scoreText(
  data: Data,
  lexical: readonly Field[],
  words: ReadonlySet<string>,
  isEnough: (characters: number) => boolean,
): Generator<undefined, Score> {
  const counts = new Map<string, number>()
  const fieldMatches: { field: Field; words: Set<string>; at: number }[] = []
  let length = 0
  for (const field of lexical) {
    const text = data[field.name]
    if (typeof text !== 'string') continue
    const fieldWords = new Set<string>()
    const weight = headingFields.has(field.name) ? 2 : 1
    let at = text.length
    for (const chunk of splitText(text, chunkLength)) {
      length += eachWordOf(chunk.text, words, (word, start) => {
        fieldWords.add(word)
        at = Math.min(at, chunk.start + start)
        counts.set(word, (counts.get(word) ?? 0) + weight)
      })
      if (isEnough(chunk.text.length)) yield
    }
    if (fieldWords.size > 0) fieldMatches.push({ field, words: fieldWords, at })
  }
  fieldMatches.sort((a, b) => b.words.size - a.words.size)
  const norm = 0.5 + length / 200
  const sum = [...counts.values()].reduce((total, count) => total + count / (count + norm), 0)
  return {
    score: Math.round((1000 * sum) / words.size),
    matchedFields: fieldMatches.map(({ field }) => field),
    at: fieldMatches[0]?.at ?? 0,
    hasAll: counts.size === words.size,
  }
}

/** Reports each occurrence of a term, and returns the total word count. */
function eachWordOf(
  text: string,
  terms: ReadonlySet<string>,
  onFound: (word: string, start: number) => void,
): number {
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) >= 128)
      return eachWord(text, terms, ({ word, start }) => onFound(word, start))
  // Fast path for ASCII: no regular expression and no substring per word.
  const lower = text.toLowerCase()
  let count = 0
  for (let at = 0; at < lower.length; at++) {
    if (isWordCharacter[lower.charCodeAt(at)] === 0) continue
    const start = at
    while (at < lower.length && isWordCharacter[lower.charCodeAt(at)] === 1) at++
    count += 1
    for (const word of terms)
      if (word.length === at - start && lower.startsWith(word, start)) onFound(word, start)
  }
  return count
}

const isWordCharacter = Uint8Array.from({ length: 128 }, (_, unit) =>
  /[a-zA-Z0-9]/.test(String.fromCharCode(unit)) ? 1 : 0,
)
