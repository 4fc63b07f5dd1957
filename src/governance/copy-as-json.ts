import type { Json } from '../capability/json.ts'

const maxDepth = 100

/** Thrown when a value cannot be sent as JSON. */
export class JsonCopyError extends Error {
  override readonly name = 'JsonCopyError'
  readonly reason: 'too_large' | 'not_json'

  constructor(reason: JsonCopyError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** Mutable counter: several values can share one limit. */
export interface SizeLimit {
  remainingChars: number
}

/**
 * Copies an untrusted value to plain JSON. Getters and `toJSON` methods may throw, return something
 * else the second time, or never end: each property is read exactly once, and the copy stops at the
 * size limit. The copy is safe to serialize.
 */
export function copyAsJson(value: unknown, limit: SizeLimit, depth = 0): Json | undefined {
  if (depth > maxDepth)
    throw new JsonCopyError('not_json', 'it is nested too deeply, or has a circular reference')
  switch (typeof value) {
    case 'string':
      count(limit, value.length + 2)
      return value
    case 'boolean':
      count(limit, 5)
      return value
    case 'number':
      if (!Number.isFinite(value))
        throw new JsonCopyError('not_json', `${value} is not a JSON number`)
      count(limit, 8)
      return value
    case 'undefined':
    case 'function':
    case 'symbol':
      return undefined
    case 'bigint':
      throw new JsonCopyError('not_json', 'a bigint is not a JSON number')
    case 'object':
      count(limit, 4)
      return value === null ? null : copyObject(value, limit, depth)
  }
}

function count(limit: SizeLimit, characters: number): void {
  limit.remainingChars -= characters
  if (limit.remainingChars < 0) throw new JsonCopyError('too_large', 'it is too large')
}

function copyObject(value: object, limit: SizeLimit, depth: number): Json | undefined {
  if (Array.isArray(value)) {
    const items: Json[] = []
    // Read by index: a custom iterator might never end.
    for (let index = 0; index < value.length; index++) {
      count(limit, 1)
      items.push(copyAsJson(value[index], limit, depth + 1) ?? null)
    }
    return items
  }
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value))
    throw new JsonCopyError('not_json', `a ${value.constructor.name} is not JSON`)
  // Errors carry requests, headers and stacks in their properties: none of it is meant as data.
  if (value instanceof Error) return {}
  if ('toJSON' in value && typeof value.toJSON === 'function')
    return copyAsJson(value.toJSON(), limit, depth + 1)
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) {
    const item = copyAsJson((value as Record<string, unknown>)[key], limit, depth + 1)
    if (item === undefined) continue
    count(limit, key.length + 4)
    // Prototype pollution: assigning to `__proto__` would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: item, enumerable: true })
    else copy[key] = item
  }
  return copy
}
