/** Integers beyond 2^53 have 16 digits or more. Other answers take no slower path than this test. */
export const mayHaveLargeIntegers = (json: string): boolean => /\d{16}/.test(json)

/**
 * Valid JSON with integers that a JavaScript number would round written as texts of their digits, and one of
 * them as an example. In one pass, because digits in texts are no numbers.
 */
export function quoteLargeIntegers(json: string): {
  readonly json: string
  readonly example: string | undefined
} {
  const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
  const parts: string[] = []
  let example: string | undefined
  let copied = 0
  for (let at = 0; at < json.length; at++) {
    const character = json[at] as string
    if (character === '"') at = findEndOfText(json, at)
    else if (character === '-' || (character >= '0' && character <= '9')) {
      number.lastIndex = at
      const [literal = character] = number.exec(json) ?? []
      if (/^-?\d{16,}$/.test(literal) && !Number.isSafeInteger(Number(literal))) {
        parts.push(json.slice(copied, at), '"', literal, '"')
        copied = at + literal.length
        example ??= literal
      }
      at += literal.length - 1
    }
  }
  return { json: parts.join('') + json.slice(copied), example }
}

function findEndOfText(json: string, start: number): number {
  let at = start + 1
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1
  return at
}
