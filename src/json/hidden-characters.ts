/**
 * Characters that a person does not see and a model or a terminal acts on: controls, zero-width and
 * bidirectional controls, tag characters, variation selectors and fillers.
 */
const hidden = String.raw`[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Noncharacter_Code_Point}\u2028\u2029]`

/** Scripts whose spelling needs the joiners U+200C and U+200D. */
const joiningScripts =
  'Arab Syrc Mand Nkoo Adlm Mong Phag Rohg Mani Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Tibt'
const joining = `(?!${hidden})[${joiningScripts.replaceAll(/(\w+) ?/g, String.raw`\p{scx=$1}`)}]`

const emoji = String.raw`\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?`
/** The flags of England, Scotland and Wales: a black flag and the region in tag characters. */
const regionFlag = `\u{1F3F4}(?:${['gbeng', 'gbsct', 'gbwls'].map(toTags).join('|')})\u{E007F}`

/** Sequences with characters from `hidden` that Unicode needs to write a text. */
const legitimate = [
  String.raw`\r\n|[\n\t]`,
  // Arabic number signs and the like are visible, although their category is Cf.
  String.raw`[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]`,
  regionFlag,
  String.raw`${emoji}(?:\u200D${emoji})+`,
  String.raw`\p{Emoji}[\uFE0E\uFE0F]`,
  String.raw`${joining}[\u200C\u200D](?=${joining})|(?=\p{M})${joining}[\u200C\u200D]`,
  String.raw`(?!${hidden})\p{scx=Mong}[\u180B-\u180D\u180F]`,
]

/** A single direction mark, in a text that is written from right to left. */
const directionMark = String.raw`(?<!${hidden})[\u061C\u200E\u200F](?!${hidden})`

interface Patterns {
  readonly inAnyText: RegExp
  readonly inRightToLeftText: RegExp
  readonly rightToLeft: RegExp
}

let patterns: Patterns | undefined

/** Parsed with the first text that is not plain ASCII: the Unicode classes take milliseconds. */
function toPatterns(): Patterns {
  patterns ??= {
    inAnyText: new RegExp(`(${legitimate.join('|')})|${hidden}`, 'gu'),
    inRightToLeftText: new RegExp(`(${[...legitimate, directionMark].join('|')})|${hidden}`, 'gu'),
    rightToLeft:
      /(?=\p{L})[\p{scx=Hebr}\p{scx=Arab}\p{scx=Syrc}\p{scx=Thaa}\p{scx=Nkoo}\p{scx=Adlm}]/u,
  }
  return patterns
}

const plainAscii = /^[\n\t\x20-\x7e]*$/

/** The distinct hidden characters of a text, such as `U+200B`, in order of appearance. */
export function findHidden(text: string): string[] {
  const codes = new Set<string>()
  replaceHidden(text, (character) => {
    codes.add(`U+${toHex(character).toUpperCase().padStart(4, '0')}`)
    return ''
  })
  return [...codes]
}

/** Removes hidden characters; those that separate lines become a line feed. */
export const removeHidden = (text: string): string =>
  replaceHidden(text, (character) => (lineSeparators.has(character) ? '\n' : ''))

/** Makes characters without a glyph visible, such as `\u{200b}`: against spoofing in terminals and dialogs. */
export const escapeHidden = (text: string): string =>
  replaceHidden(text, toEscape).replaceAll(/[\p{Co}\p{Cn}\p{Cs}]/gu, toEscape)

const toEscape = (character: string): string => `\\u{${toHex(character)}}`

/** As `escapeHidden`, in the notation of JSON and of regular expressions: the meaning is the same. */
export const escapeHiddenAsJson = (text: string): string =>
  replaceHidden(text, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )

function replaceHidden(text: string, toReplacement: (character: string) => string): string {
  if (plainAscii.test(text)) return text
  const { inAnyText, inRightToLeftText, rightToLeft } = toPatterns()
  const pattern = rightToLeft.test(text) ? inRightToLeftText : inAnyText
  return text.replaceAll(pattern, (match, kept: string | undefined) => kept ?? toReplacement(match))
}

const lineSeparators = new Set(['\v', '\f', '\r', '\u0085', '\u2028', '\u2029'])

const toHex = (character: string): string => (character.codePointAt(0) ?? 0).toString(16)

/** ASCII letters as tag characters. */
function toTags(letters: string): string {
  return [...letters].map((letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join('')
}
