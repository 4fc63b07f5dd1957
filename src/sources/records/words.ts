/** Letters and digits; everything else stands between words. */
const word = /[\p{L}\p{N}\p{M}]+/gu
const marks = /\p{M}+/gu

/**
 * What the index is given of a text: its words as they are matched, in lower case and without accents,
 * so that what the index finds and what is shown as found can never differ. In plain text it finds
 * these by itself.
 */
export const toWords = (text: unknown): string => {
  if (typeof text !== 'string') return ''
  return isAscii.test(text) ? text : listWords(text).join(' ')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all that is ASCII, but for what ends a text
const isAscii = /^[\x01-\x7f]*$/

export function listWords(text: string): readonly string[] {
  return (text.match(word) ?? []).map(fold).filter((one) => one !== '')
}

/** Where each word stands in the text, and what it is when folded. */
export function* placeWords(text: string): Generator<{ word: string; start: number; end: number }> {
  for (const found of text.matchAll(word)) {
    const folded = fold(found[0])
    if (folded !== '')
      yield { word: folded, start: found.index, end: found.index + found[0].length }
  }
}

const fold = (text: string): string =>
  isPlain.test(text)
    ? text.toLowerCase()
    : text.normalize('NFKD').replace(marks, '').toLowerCase().replace(rest, '')

const isPlain = /^[a-zA-Z0-9]+$/
/** Folding can bring forth what is no letter. */
const rest = /[^\p{L}\p{N}]+/gu
