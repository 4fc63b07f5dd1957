import type { Json } from '../capability/json.ts'

const deepest = 100

/** What is wrong with a value that should leave as JSON. */
export class Unclean extends Error {
  override readonly name = 'Unclean'
  readonly reason: 'too_large' | 'not_json'

  constructor(reason: Unclean['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** How many characters of JSON are left. */
export interface Allowance {
  left: number
}

/**
 * A copy of a value that is JSON and nothing else. Whatever a tool answers with may have getters
 * and `toJSON` methods that throw, lie the second time, or never end; this looks at each part once,
 * and stops as soon as the allowance is used up. What comes out can be trusted.
 */
export function clean(value: unknown, allowance: Allowance, depth = 0): Json | undefined {
  if (depth > deepest) throw new Unclean('not_json', 'it is nested too deeply, or in a circle')
  switch (typeof value) {
    case 'string':
      spend(allowance, value.length + 2)
      return value
    case 'boolean':
      spend(allowance, 5)
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Unclean('not_json', `${value} is no JSON number`)
      spend(allowance, 8)
      return value
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined
    case 'bigint':
      throw new Unclean('not_json', 'a bigint is no JSON number')
    case 'object':
      spend(allowance, 4)
      return value === null ? null : cleanObject(value, allowance, depth)
  }
}

function spend(allowance: Allowance, characters: number): void {
  allowance.left -= characters
  if (allowance.left < 0) throw new Unclean('too_large', 'it is too large')
}

function cleanObject(value: object, allowance: Allowance, depth: number): Json | undefined {
  if (Array.isArray(value)) {
    const items: Json[] = []
    // By index: an iterator of its own might never end.
    for (let index = 0; index < value.length; index++) {
      spend(allowance, 1)
      items.push(clean(value[index], allowance, depth + 1) ?? null)
    }
    return items
  }
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value))
    throw new Unclean('not_json', `a ${value.constructor.name} is no JSON`)
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return clean(value.toJSON(), allowance, depth + 1)
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const item = clean((value as Record<string, unknown>)[key], allowance, depth + 1)
    if (item === undefined) continue
    spend(allowance, key.length + 4)
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true })
    else copy[key] = item
  }
  return copy
}
