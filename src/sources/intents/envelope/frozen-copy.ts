import type { Json } from '../../../capability/json.ts'

const deepest = 64

/** Why a value cannot travel in an envelope. */
export class NotJson extends Error {
  override readonly name = 'NotJson'
}

/**
 * A copy that is JSON and that nobody can change: every agent is handed the same payload, and none
 * may see what another one made of it.
 */
export function frozenCopy(value: unknown, depth = 0): Json {
  if (depth > deepest) throw new NotJson(`it is nested deeper than ${deepest} levels`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new NotJson(`${value} is no JSON number`)
      return value
    case 'object':
      return value === null ? null : copyObject(value, depth)
    default:
      throw new NotJson(`a ${typeof value} is no JSON`)
  }
}

function copyObject(value: object, depth: number): Json {
  if (Array.isArray(value)) {
    const items: Json[] = []
    for (let index = 0; index < value.length; index++)
      items.push(frozenCopy(value[index] ?? null, depth + 1))
    return Object.freeze(items)
  }
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value))
    throw new NotJson(`a ${value.constructor.name} is no JSON`)
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    const child = frozenCopy(item, depth + 1)
    if (key === '__proto__') Object.defineProperty(copy, key, { value: child, enumerable: true })
    else copy[key] = child
  }
  return Object.freeze(copy)
}
