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
  const words: string[] = []
  for (const parts of listRuns(text)) {
    for (const { word } of parts) words.push(word)
    for (const pair of toPairs(parts)) words.push(pair)
  }
  return words.join(' ')
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

/** A part of a text that no word goes beyond. */
export interface Piece {
  readonly start: number
  readonly text: string
}

const between = /[^\p{L}\p{N}\p{M}]/gu

/** A text in pieces of at least so many characters: who looks at a long one can pause between two. */
export function* listPieces(text: string, length: number, from = 0): Generator<Piece> {
  for (let start = from; start < text.length; ) {
    between.lastIndex = start + length
    const end = between.exec(text)?.index ?? text.length
    yield { start, text: text.slice(start, end) }
    start = end
  }
}

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

/** Scripts without spaces, the marks that several of them share, and numbers that are folded to them. */
const withoutSpaces =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}〱-〵ーｰ㆒-㆕㈠-㈩㊀-㊉'
const unspaced = new RegExp(`[${withoutSpaces}]`, 'u')
/** One vowel of Thai and of Lao is a mark and a letter, written as one or as two. */
const signs = '\\u0e4d\\u0e32|\\u0ecd\\u0eb2|[\\p{M}\\u0e33\\u0eb3ﾞﾟ]'
const part = new RegExp(`([${withoutSpaces}](?:${signs})*)|[^${withoutSpaces}]+`, 'gu')
const nextPart = new RegExp(part, 'uy')

/** Each word alone, or the characters that stand together without a space. */
function listRuns(text: string): readonly (readonly PlacedWord[])[] {
  const runs: PlacedWord[][] = []
  const mayBeTogether = unspaced.test(text)
  run.lastIndex = 0
  for (let found = run.exec(text); found; found = run.exec(text)) {
    const { 0: whole, index: start } = found
    if (mayBeTogether && unspaced.test(whole)) addTogether(runs, whole, start)
    else {
      const word = fold(whole)
      if (word !== '') runs.push([{ word, start, end: start + whole.length }])
    }
  }
  return runs
}

/** What stands together, and other words before, between and behind it. */
function addTogether(runs: PlacedWord[][], whole: string, from: number): void {
  let together: PlacedWord[] | undefined
  for (let at = 0; at < whole.length; ) {
    const { found, isUnit } = takePart(whole, at)
    const start = from + at
    at += found.length
    const end = from + at
    if (!isUnit) together = undefined
    for (const word of isUnit ? toUnits(found) : [fold(found)].filter(isSome)) {
      if (together) together.push({ word, start, end })
      else {
        const alone = [{ word, start, end }]
        runs.push(alone)
        if (isUnit) together = alone
      }
    }
  }
}

function takePart(whole: string, at: number): { readonly found: string; readonly isUnit: boolean } {
  // Most of them are followed by one that is no mark either: those need no pattern.
  if (
    isCommon(whole.charCodeAt(at)) &&
    (at + 1 === whole.length || isCommon(whole.charCodeAt(at + 1)))
  )
    return { found: whole[at] as string, isUnit: true }
  nextPart.lastIndex = at
  const [found = '', unit] = nextPart.exec(whole) ?? []
  return { found, isUnit: unit !== undefined }
}

/** Chinese characters, and kana but for their marks. */
const isCommon = (unit: number): boolean =>
  (unit >= 0x4e00 && unit <= 0x9fff) ||
  (unit >= 0x3041 && unit <= 0x3096) ||
  (unit >= 0x30a1 && unit <= 0x30fa)

/** Some characters are two when they are folded, and must be found as those; of some marks nothing is left. */
const toUnits = remember((text): readonly string[] => fold(text).match(part) ?? [])

const isSome = (word: string): boolean => word !== ''

const fold = (text: string): string => (isPlain.test(text) ? text.toLowerCase() : foldMore(text))

const foldMore = remember((text) =>
  text.normalize('NFKD').replace(accents, '').toLowerCase().replace(rest, ''),
)

const mostKnown = 20_000
const longestKnown = 32

/** The same few thousand words again and again, unless somebody makes up others. */
function remember<T extends object | string>(work: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const made = work(text)
    if (known.size >= mostKnown) known.clear()
    if (text.length <= longestKnown) known.set(text, made)
    return made
  }
}

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
