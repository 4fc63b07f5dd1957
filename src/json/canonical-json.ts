import canonicalize from 'canonicalize'
import { isPlainObject } from './is-plain-object.ts'

const maxDepth = 100

/**
 * Canonical JSON (RFC 8785): key order, number spelling and spacing do not count. Throws for an unpaired
 * surrogate and for numbers that JSON does not have. Plain JSON is written here, several times faster;
 * the package decides about everything else, such as `toJSON` methods and circular references.
 */
export const toCanonicalJson = (value: unknown): string =>
  writePlain(value, 0) ?? canonicalize(value ?? null) ?? 'null'

/** `undefined` for anything that is not plain JSON, or has no canonical form. */
function writePlain(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? JSON.stringify(value) : undefined
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      if (depth >= maxDepth || 'toJSON' in value) return undefined
      if (Array.isArray(value)) return writeArray(value, depth)
      return isPlainObject(value) ? writeObject(value, depth) : undefined
    default:
      return undefined
  }
}

function writeArray(items: readonly unknown[], depth: number): string | undefined {
  let text = '['
  for (let index = 0; index < items.length; index++) {
    const item = writePlain(items[index], depth + 1)
    if (item === undefined) return undefined
    text += index === 0 ? item : `,${item}`
  }
  return `${text}]`
}

function writeObject(value: Readonly<Record<string, unknown>>, depth: number): string | undefined {
  let text = '{'
  for (const key of sortKeys(Object.keys(value))) {
    const item = value[key]
    if (item === undefined) continue
    const itemText = writePlain(item, depth + 1)
    if (itemText === undefined || !key.isWellFormed()) return undefined
    text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${itemText}`
  }
  return `${text}}`
}

/** By UTF-16 code units, as the RFC requires. Arguments often are in order, and sorting allocates. */
function sortKeys(keys: string[]): readonly string[] {
  for (let index = 1; index < keys.length; index++)
    if ((keys[index] as string) < (keys[index - 1] as string)) return keys.sort()
  return keys
}
