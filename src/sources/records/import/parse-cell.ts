import type { Stream } from '../model/stream.ts'
import type { ParseCell } from './read-lines.ts'

/** What a cell of a table means is said by its field. */
export function toCellOf({ fields }: Stream): ParseCell {
  const types = new Map(fields.map(({ name, type }) => [name, type]))
  return (name, text) => {
    switch (types.get(name)) {
      case 'number':
      case 'integer':
        return toNumber(text) ?? text
      case 'boolean':
        return toBoolean(text) ?? text
      default:
        return text
    }
  }
}

/** Of what JSON would call one; anything else stays the text it is. */
export function toNumber(text: string): number | undefined {
  if (!/^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

export const toBoolean = (text: string): boolean | undefined =>
  text === 'true' ? true : text === 'false' ? false : undefined
