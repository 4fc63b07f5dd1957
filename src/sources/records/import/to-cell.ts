import type { Stream } from '../model/stream.ts'
import type { ParseCell } from './read-lines.ts'

/** Parses CSV cells by the declared type of their field. */
export function createCellParser({ fields }: Stream): ParseCell {
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

/** Accepts JSON number syntax only; any other cell stays text. */
export function toNumber(text: string): number | undefined {
  if (!/^\s*-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?\s*$/i.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

export const toBoolean = (text: string): boolean | undefined =>
  text === 'true' ? true : text === 'false' ? false : undefined
