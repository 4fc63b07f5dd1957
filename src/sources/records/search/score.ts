import type { Data } from '../grants/narrow-fields.ts'
import type { Field } from '../model/stream.ts'
import { eachWord, listPieces } from './words.ts'

/** Fields that say what a record is about count twice. */
const heading = new Set(['title', 'subject', 'name', 'headline'])

export interface Score {
  readonly score: number
  /** Fields with a match in them; the best one first. */
  readonly matched: readonly Field[]
  /** Where in that one the first match is. */
  readonly at: number
  /** A store may take for a match what is none. */
  readonly hasAll: boolean
}

/** Characters that are looked at between two pauses. */
const pieceLength = 8192

/**
 * From granted text alone; whole numbers, so that two machines agree. Pauses where enough was looked at
 * for one turn.
 */
export function* scoreText(
  data: Data,
  lexical: readonly Field[],
  words: ReadonlySet<string>,
  isEnough: (characters: number) => boolean,
): Generator<undefined, Score> {
  const counts = new Map<string, number>()
  const matched: { field: Field; words: Set<string>; at: number }[] = []
  let length = 0
  for (const field of lexical) {
    const text = data[field.name]
    if (typeof text !== 'string') continue
    const seen = new Set<string>()
    const weight = heading.has(field.name) ? 2 : 1
    let at = text.length
    for (const piece of listPieces(text, pieceLength)) {
      length += eachWordOf(piece.text, words, (word, start) => {
        seen.add(word)
        at = Math.min(at, piece.start + start)
        counts.set(word, (counts.get(word) ?? 0) + weight)
      })
      if (isEnough(piece.text.length)) yield
    }
    if (seen.size > 0) matched.push({ field, words: seen, at })
  }
  matched.sort((a, b) => b.words.size - a.words.size)
  const norm = 0.5 + length / 200
  const sum = [...counts.values()].reduce((total, count) => total + count / (count + norm), 0)
  return {
    score: Math.round((1000 * sum) / words.size),
    matched: matched.map(({ field }) => field),
    at: matched[0]?.at ?? 0,
    hasAll: counts.size === words.size,
  }
}

/** Tells of every wanted word where it is, and returns how many words there are in all. */
function eachWordOf(
  text: string,
  wanted: ReadonlySet<string>,
  onFound: (word: string, start: number) => void,
): number {
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) >= 128)
      return eachWord(text, wanted, ({ word, start }) => onFound(word, start))
  // Most texts are plain: no pattern and no copy of every word is needed for those.
  const lower = text.toLowerCase()
  let count = 0
  for (let at = 0; at < lower.length; at++) {
    if (isOfWord[lower.charCodeAt(at)] === 0) continue
    const start = at
    while (at < lower.length && isOfWord[lower.charCodeAt(at)] === 1) at++
    count += 1
    for (const word of wanted)
      if (word.length === at - start && lower.startsWith(word, start)) onFound(word, start)
  }
  return count
}

const isOfWord = Uint8Array.from({ length: 128 }, (_, unit) =>
  /[a-zA-Z0-9]/.test(String.fromCharCode(unit)) ? 1 : 0,
)
