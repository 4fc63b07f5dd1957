/**
 * The pattern in the stricter syntax of the `u` flag, which clients compile it with. Without the flag, any
 * punctuation may be escaped, and a bracket or a dash that can mean nothing else is itself. Returns the
 * source unchanged if nothing of this makes it valid.
 */
export function toUnicodePattern(source: string): string {
  if (isValid(source, 'u') || !isValid(source, '') || posixClass.test(source)) return source
  const translated = source.replace(part, (text: string, start?: string, body?: string) =>
    body === undefined ? toPart(text) : `${start}${toClassBody(body)}]`,
  )
  return isValid(translated, 'u') ? translated : source
}

/** `[[:alpha:]]` of other languages, whose last bracket would be a character here. */
const posixClass = /\[\[?:\w+:\]/

function isValid(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}

/** An escape; `\u{…}` and `\p{…}` contain braces. */
const escapeSource = /\\(?:u\{[\da-fA-F]+\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|[\s\S])/
  .source

/** An escape, a class, a quantifier (`{,5}` is one in other languages), or a bracket that stands for itself. */
const part = new RegExp(
  `${escapeSource}|(\\[\\^?)((?:${escapeSource}|[^\\]\\\\])*)\\]|\\{\\d*,?\\d*\\}|[{}\\]]`,
  'gu',
)

function toPart(text: string): string {
  if (text.length === 1) return `\\${text}`
  return isNeedlessEscape(text) ? text.slice(1) : text
}

/** Escaped letters and digits have, or could have, a meaning. */
const isNeedlessEscape = (text: string): boolean => /^\\[^A-Za-z\d^$\\.*+?()[\]{}|/]$/u.test(text)

const classAtom = new RegExp(`${escapeSource}|[\\s\\S]`, 'gu')

/** A dash beside a set such as `\w` is no range. */
function toClassBody(body: string): string {
  const atoms = body.match(classAtom) ?? []
  let result = ''
  for (let index = 0; index < atoms.length; index++) {
    const [first = '', dash, last] = atoms.slice(index, index + 3)
    result += toAtom(first)
    if (dash !== '-' || last === undefined) continue
    result += (isSet(first) || isSet(last) ? '\\-' : '-') + toAtom(last)
    index += 2
  }
  return result
}

const isSet = (atom: string): boolean => /^\\[dDsSwWpP]/.test(atom)

const toAtom = (atom: string): string =>
  atom === '-' ? '\\-' : atom !== '\\-' && isNeedlessEscape(atom) ? atom.slice(1) : atom
