/** A word as it is matched, and where in the text it stands. */
export interface PlacedWord {
  readonly word: string
  readonly start: number
  readonly end: number
}

/**
 * What the index is given of a text: its words as they are matched, in lower case and without accents,
 * so that what the index finds and what is shown as found can never differ. In plain text it finds
 * these by itself. Where no spaces say where words end, each character is one, and each two are: a
 * dictionary would differ from machine to machine.
 */
export function toWords(text: unknown): string {
  if (typeof text !== 'string') return ''
  if (isAscii.test(text)) return text
  if (!unspaced.test(text)) return (text.match(run) ?? []).map(fold).filter(isSome).join(' ')
  return listRuns(text)
    .flatMap((parts) => [...parts.map(({ word }) => word), ...toPairs(parts)])
    .join(' ')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all that is ASCII, but for what ends a text
const isAscii = /^[\x01-\x7f]*$/

/** What somebody looks for. Characters without spaces between them are one word, however many. */
export function listWords(text: string): readonly string[] {
  return listRuns(text).map((parts) => parts.map(({ word }) => word).join(''))
}

/** More would only make sure of what is looked at again in the text itself. */
const mostIndexed = 32

/** What everything that has these words has in the index; there may be more that has. */
export function toIndexed(words: readonly string[]): readonly string[] {
  const indexed = words.flatMap((word) =>
    listRuns(word).flatMap((parts) => (parts.length === 1 ? [word] : toPairs(parts))),
  )
  return [...new Set(indexed)].slice(0, mostIndexed)
}

const toPairs = (parts: readonly PlacedWord[]): readonly string[] =>
  parts.slice(1).map(({ word }, at) => `${parts[at]?.word}${word}`)

/** Tells of every wanted word where it stands, and returns how many words there are in all. */
export function eachWord(
  text: string,
  wanted: ReadonlySet<string>,
  onFound: (found: PlacedWord) => void,
): number {
  let count = 0
  for (const parts of listRuns(text)) {
    count += parts.length
    for (const [at, part] of parts.entries()) {
      if (parts.length === 1) {
        if (wanted.has(part.word)) onFound(part)
        continue
      }
      for (const word of wanted) {
        const end = findEnd(parts, at, word)
        if (end !== undefined) onFound({ word, start: part.start, end })
      }
    }
  }
  return count
}

/** Where a word ends that begins with this part, if it does. */
function findEnd(parts: readonly PlacedWord[], first: number, word: string): number | undefined {
  let length = 0
  for (let at = first; ; at += 1) {
    const part = parts[at]
    if (!part || !word.startsWith(part.word, length)) return undefined
    length += part.word.length
    if (length === word.length) return part.end
  }
}

/** Letters and digits; everything else stands between words. */
const run = /[\p{L}\p{N}\p{M}]+/gu

/** Scripts without spaces, and the marks that several of them share. */
const withoutSpaces =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}〱-〵ーｰ'
const unspaced = new RegExp(`[${withoutSpaces}]`, 'u')
/** One vowel of Thai and of Lao is a mark and a letter, written as one or as two. */
const signs = '\\u0e4d\\u0e32|\\u0ecd\\u0eb2|[\\p{M}\\u0e33\\u0eb3ﾞﾟ]'
const part = new RegExp(`([${withoutSpaces}](?:${signs})*)|[^${withoutSpaces}]+`, 'gu')

/** Each word alone, or the characters that stand together without a space. */
function listRuns(text: string): readonly (readonly PlacedWord[])[] {
  const runs: PlacedWord[][] = []
  for (const { 0: whole, index } of text.matchAll(run)) {
    let isTogether = false
    const add = (words: readonly string[], start: number, length: number) => {
      for (const word of words) {
        const placed = { word, start, end: start + length }
        if (isTogether) runs.at(-1)?.push(placed)
        else runs.push([placed])
        isTogether = true
      }
    }
    if (!unspaced.test(whole)) {
      add([fold(whole)].filter(isSome), index, whole.length)
      continue
    }
    for (const { 0: found, 1: unit, index: at } of whole.matchAll(part)) {
      if (unit !== undefined) add(toUnits(unit), index + at, unit.length)
      else {
        isTogether = false
        add([fold(found)].filter(isSome), index + at, found.length)
        isTogether = false
      }
    }
  }
  return runs
}

const known = new Map<string, readonly string[]>()
const mostKnown = 20_000

/** Some characters are two when they are folded, and must be found as those; of some marks nothing is left. */
function toUnits(text: string): readonly string[] {
  const before = known.get(text)
  if (before) return before
  const units = fold(text).match(part) ?? []
  // The same few thousand again and again, unless somebody makes up others.
  if (known.size >= mostKnown) known.clear()
  known.set(text, units)
  return units
}

const isSome = (word: string): boolean => word !== ''

const fold = (text: string): string =>
  isPlain.test(text)
    ? text.toLowerCase()
    : text.normalize('NFKD').replace(accents, '').toLowerCase().replace(rest, '')

/** Most of what there is: nothing of it changes but for its case. */
const isPlain = /^[a-zA-Z0-9\u3400-\u4dbf\u4e00-\u9fff]+$/

/** Here a mark is a vowel or a tone, and another one is another word. */
const withVowelSigns = [
  ...['Thai', 'Lao', 'Khmer', 'Myanmar', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
  ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Tibetan'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const accents = new RegExp(`(?![${withVowelSigns}])\\p{M}`, 'gu')
/** Folding can bring forth what is no letter. */
const rest = new RegExp(`(?![${withVowelSigns}])[^\\p{L}\\p{N}]`, 'gu')
