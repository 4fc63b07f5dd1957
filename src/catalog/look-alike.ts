import { removeHidden } from '../json/hidden-characters.ts'

/**
 * A form that is equal for names that a person can mistake for each other: without hidden characters,
 * compatibility variants (NFKC), case, separators, and letters of other alphabets that look Latin.
 */
export const toLookAlike = (name: string): string =>
  ascii.test(name)
    ? fold(name)
    : fold([...removeHidden(name).normalize('NFKC')].map(toLatin).join(''))

const ascii = /^[ -~]*$/

const fold = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '_')

/** Cyrillic and Greek letters, and the Latin ones they look like; from Unicode's confusables.txt. */
const lookAlikes = new Map(
  // biome-ignore format: pairs
  Object.entries({
    а: 'a', е: 'e', о: 'o', р: 'p', с: 'c', у: 'y', х: 'x', і: 'i', ј: 'j', ѕ: 's', һ: 'h', ԁ: 'd', ԛ: 'q', ԝ: 'w',
    к: 'k', м: 'm', т: 't', в: 'b', н: 'h', ѵ: 'v', ґ: 'r', ո: 'n', օ: 'o', ս: 'u',
    А: 'A', В: 'B', Е: 'E', К: 'K', М: 'M', Н: 'H', О: 'O', Р: 'P', С: 'C', Т: 'T', Х: 'X', У: 'Y', І: 'I', Ѕ: 'S', Ј: 'J',
    α: 'a', ε: 'e', ι: 'i', κ: 'k', ν: 'v', ο: 'o', ρ: 'p', τ: 't', υ: 'u', χ: 'x', γ: 'y', η: 'n',
    Α: 'A', Β: 'B', Ε: 'E', Ζ: 'Z', Η: 'H', Ι: 'I', Κ: 'K', Μ: 'M', Ν: 'N', Ο: 'O', Ρ: 'P', Τ: 'T', Υ: 'Y', Χ: 'X',
    ı: 'i', ɡ: 'g', ɑ: 'a', ǃ: '!', ⅼ: 'l', ℓ: 'l',
  }),
)

const toLatin = (letter: string): string => lookAlikes.get(letter) ?? letter
