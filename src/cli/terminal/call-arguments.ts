import { isPlainObject } from '../../json/is-plain-object.ts'
import { UsageError } from './usage-error.ts'

/** Splits `[WHAT] NAME [JSON]`. The last word is the JSON if it looks like JSON. */
export function toCallWords(
  words: readonly string[],
  verb: string,
): { what: string; name: string; json: string } {
  const last = words.at(-1) ?? ''
  const hasJson = last === '-' || /^\s*[[{"]/.test(last)
  const [first, second, extra] = hasJson ? words.slice(0, -1) : words
  const json = hasJson ? last : '{}'
  if (first === undefined)
    throw new UsageError(`Name a tool: drawbridge ${verb} [WHAT] NAME [JSON]`)
  if (extra !== undefined) throw new UsageError(`Unexpected argument ${JSON.stringify(extra)}.`)
  return second === undefined
    ? { what: '.', name: first, json }
    : { what: first, name: second, json }
}

export function parseInput(json: string): unknown {
  let input: unknown
  try {
    input = JSON.parse(json)
  } catch (error) {
    throw new UsageError(`The arguments are not valid JSON: ${(error as Error).message}`)
  }
  if (isPlainObject(input)) return input
  throw new UsageError('The arguments must be a JSON object.')
}
