/** A normalized word and its position in the text. */
export interface PlacedWord {
  readonly word: string
  readonly start: number
  readonly end: number
}

/**
 * The text to put into the full-text index: words in lower case without accents, so that the index
 * and the highlighting always agree. ASCII is left to the index's own tokenizer. Scripts without
 * spaces are indexed as single characters and bigrams: dictionary segmentation differs between
 * machines.
 */
export function toIndexText(text: unknown): string {
  if (typeof text !== 'string') return ''
  if (isAscii.test(text)) return text
  if (!unspaced.test(text))
    return (text.match(wordRun) ?? []).map(fold).filter(isNonEmpty).join(' ')
  const words: string[] = []
  for (const parts of listRuns(text)) {
    for (const { word } of parts) words.push(word)
    for (const bigram of toBigrams(parts)) words.push(bigram)
  }
  return words.join(' ')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII except NUL
const isAscii = /^[\x01-\x7f]*$/

/** The words of a search query. A run of characters without spaces is one word. */
export function listWords(text: string): readonly string[] {
  return listRuns(text).map((parts) => parts.map(({ word }) => word).join(''))
}

/** More terms would not help: every match is verified against the text. */
const maxIndexTerms = 32

/** Index terms that every record with these words contains. Other records may contain them, too. */
export function toIndexTerms(words: readonly string[]): readonly string[] {
  const terms = words.flatMap((word) =>
    listRuns(word).flatMap((parts) => (parts.length === 1 ? [word] : toBigrams(parts))),
  )
  return [...new Set(terms)].slice(0, maxIndexTerms)
}

const toBigrams = (parts: readonly PlacedWord[]): readonly string[] =>
  parts.slice(1).map(({ word }, at) => `${parts[at]?.word}${word}`)

/** A part of a text that splits no word. */
export interface TextChunk {
  readonly start: number
  readonly text: string
}

const separator = /[^\p{L}\p{N}\p{M}]/gu

/** Splits a text into chunks of at least `length` characters, between words, so that a scan can yield. */
export function* splitText(text: string, length: number, from = 0): Generator<TextChunk> {
  for (let start = from; start < text.length; ) {
    separator.lastIndex = start + length
    const end = separator.exec(text)?.index ?? text.length
    yield { start, text: text.slice(start, end) }
    start = end
  }
}

/** Reports each occurrence of a term, and returns the total word count. */
export function eachWord(
  text: string,
  terms: ReadonlySet<string>,
  onFound: (word: PlacedWord) => void,
): number {
  let count = 0
  for (const parts of listRuns(text)) {
    count += parts.length
    for (const [at, part] of parts.entries()) {
      if (parts.length === 1) {
        if (terms.has(part.word)) onFound(part)
        continue
      }
      for (const word of terms) {
        const end = findEnd(parts, at, word)
        if (end !== undefined) onFound({ word, start: part.start, end })
      }
    }
  }
  return count
}

/** The end of the word if it starts at this part, else `undefined`. */
function findEnd(parts: readonly PlacedWord[], first: number, word: string): number | undefined {
  let length = 0
  for (let at = first; ; at += 1) {
    const part = parts[at]
    if (!part || !word.startsWith(part.word, length)) return undefined
    length += part.word.length
    if (length === word.length) return part.end
  }
}

/** Letters, digits and marks; everything else separates words. */
const wordRun = /[\p{L}\p{N}\p{M}]+/gu

/** Scripts written without spaces, marks they share, and symbols that NFKD folds to their characters. */
const unspacedScripts =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}〱-〵ーｰ㆒-㆕㈠-㈩㊀-㊉'
const unspaced = new RegExp(`[${unspacedScripts}]`, 'u')
/** Combining marks. The Thai and Lao vowel AM is one code point or a mark and a letter. */
const signs = '\\u0e4d\\u0e32|\\u0ecd\\u0eb2|[\\p{M}\\u0e33\\u0eb3ﾞﾟ]'
const part = new RegExp(`([${unspacedScripts}](?:${signs})*)|[^${unspacedScripts}]+`, 'gu')
const nextPart = new RegExp(part, 'uy')

/** Splits a text into runs: a single word, or consecutive characters of a script without spaces. */
function listRuns(text: string): readonly (readonly PlacedWord[])[] {
  const runs: PlacedWord[][] = []
  const hasUnspaced = unspaced.test(text)
  wordRun.lastIndex = 0
  for (let match = wordRun.exec(text); match; match = wordRun.exec(text)) {
    const { 0: run, index: start } = match
    if (hasUnspaced && unspaced.test(run)) addUnspaced(runs, run, start)
    else {
      const word = fold(run)
      if (word !== '') runs.push([{ word, start, end: start + run.length }])
    }
  }
  return runs
}

/** Adds the unspaced runs of a mixed word, and the spaced words before, between and after them. */
function addUnspaced(runs: PlacedWord[][], text: string, from: number): void {
  let currentRun: PlacedWord[] | undefined
  for (let at = 0; at < text.length; ) {
    const { partText, isUnit } = takePart(text, at)
    const start = from + at
    at += partText.length
    const end = from + at
    if (!isUnit) currentRun = undefined
    for (const word of isUnit ? toUnits(partText) : [fold(partText)].filter(isNonEmpty)) {
      if (currentRun) currentRun.push({ word, start, end })
      else {
        const run = [{ word, start, end }]
        runs.push(run)
        if (isUnit) currentRun = run
      }
    }
  }
}

function takePart(
  text: string,
  at: number,
): { readonly partText: string; readonly isUnit: boolean } {
  // Fast path without a regular expression: most characters are not followed by a combining mark.
  if (
    isCommon(text.charCodeAt(at)) &&
    (at + 1 === text.length || isCommon(text.charCodeAt(at + 1)))
  )
    return { partText: text[at] as string, isUnit: true }
  nextPart.lastIndex = at
  const [partText = '', unit] = nextPart.exec(text) ?? []
  return { partText, isUnit: unit !== undefined }
}

/** CJK ideographs, and kana without combining marks. */
const isCommon = (unit: number): boolean =>
  (unit >= 0x4e00 && unit <= 0x9fff) ||
  (unit >= 0x3041 && unit <= 0x3096) ||
  (unit >= 0x30a1 && unit <= 0x30fa)

/** One character can fold to several, which are matched individually; some marks fold to nothing. */
const toUnits = memoize((text): readonly string[] => fold(text).match(part) ?? [])

const isNonEmpty = (word: string): boolean => word !== ''

const fold = (text: string): string => (isPlain.test(text) ? text.toLowerCase() : foldUnicode(text))

const foldUnicode = memoize((text) =>
  text.normalize('NFKD').replace(accents, '').toLowerCase().replace(nonWord, ''),
)

const maxMemoized = 20_000
const maxMemoizedLength = 32

/** Texts repeat a few thousand words. Bounded, because the input is not trusted. */
function memoize<T extends object | string>(compute: (text: string) => T): (text: string) => T {
  const memo = new Map<string, T>()
  return (text) => {
    const cached = memo.get(text)
    if (cached !== undefined) return cached
    const value = compute(text)
    if (memo.size >= maxMemoized) memo.clear()
    if (text.length <= maxMemoizedLength) memo.set(text, value)
    return value
  }
}

/** Fast path: characters that folding only changes in case. */
const isPlain = /^[a-zA-Z0-9\u3400-\u4dbf\u4e00-\u9fff]+$/

/** Scripts whose marks are vowels or tones: removing them would change the word. */
const withVowelSigns = [
  ...['Thai', 'Lao', 'Khmer', 'Myanmar', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
  ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Tibetan'],
]
  .map((script) => `\\p{Script=${script}}`)
  .join('')
const accents = new RegExp(`(?![${withVowelSigns}])\\p{M}`, 'gu')
/** NFKD can produce characters that are neither letters nor digits. */
const nonWord = new RegExp(`(?![${withVowelSigns}])[^\\p{L}\\p{N}]`, 'gu')
