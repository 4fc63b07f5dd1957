import type { Json } from '../../../capability/json.ts'

const maxDepth = 64

/** Thrown for a value that JSON cannot represent. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError'
}

/**
 * Deeply frozen JSON copy. All agents get the same payload, so none may change what another one
 * sees.
 */
export function frozenCopy(value: unknown, depth = 0): Json {
  if (depth > maxDepth) throw new NotJsonError(`it is nested deeper than ${maxDepth} levels`)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new NotJsonError(`${value} is not a JSON number`)
      return value
    case 'object':
      return value === null ? null : copyObject(value, depth)
    default:
      throw new NotJsonError(`a ${typeof value} is not a JSON value`)
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
    throw new NotJsonError(`a ${value.constructor.name} is not a JSON value`)
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (item === undefined) continue
    const child = frozenCopy(item, depth + 1)
    // Prototype pollution: an assignment to `__proto__` would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: child, enumerable: true })
    else copy[key] = child
  }
  return Object.freeze(copy)
}
