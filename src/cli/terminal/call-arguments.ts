import { isPlainObject } from '../../capability/json.ts'
import { UsageError } from './usage-error.ts'

/** What is left out is told from what is there: JSON looks like nothing else. */
export function toParts(
  words: readonly string[],
  verb: string,
): { what: string; name: string; json: string } {
  const last = words.at(-1) ?? ''
  const given = last === '-' || /^\s*[[{"]/.test(last)
  const rest = given ? words.slice(0, -1) : words
  const [first, second] = rest
  const json = given ? last : '{}'
  if (first === undefined)
    throw new UsageError(`Say which tool: drawbridge ${verb} [WHAT] NAME [JSON]`)
  if (rest[2] !== undefined) throw new UsageError(`What is ${JSON.stringify(rest[2])} for?`)
  return second === undefined
    ? { what: '.', name: first, json }
    : { what: first, name: second, json }
}

export function toInput(json: string): unknown {
  let input: unknown
  try {
    input = JSON.parse(json)
  } catch (error) {
    throw new UsageError(`The arguments are not JSON: ${(error as Error).message}`)
  }
  if (isPlainObject(input)) return input
  throw new UsageError('The arguments must be a JSON object.')
}
