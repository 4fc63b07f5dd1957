import { byCodeUnit } from '../json/by-code-unit.ts'

/** More changes than this are cheaper by sorting again. */
const maxSplices = 16

/**
 * Immutable map, sorted by key. `with` copies two arrays and splices them: a small change of a map
 * with thousands of entries needs no sorting or hashing.
 */
export class SortedMap<V> implements ReadonlyMap<string, V> {
  readonly #keys: readonly string[]
  readonly #values: readonly V[]

  private constructor(keys: readonly string[], values: readonly V[]) {
    this.#keys = keys
    this.#values = values
  }

  static from<V>(entries: Iterable<readonly [string, V]>): SortedMap<V> {
    const sorted = [...entries].sort(([a], [b]) => byCodeUnit(a, b))
    return new SortedMap(
      sorted.map(([key]) => key),
      sorted.map(([, value]) => value),
    )
  }

  get size(): number {
    return this.#keys.length
  }

  get(key: string): V | undefined {
    const index = this.#find(key)
    return this.#keys[index] === key ? this.#values[index] : undefined
  }

  has(key: string): boolean {
    return this.#keys[this.#find(key)] === key
  }

  /** A copy with these changes; `undefined` removes a key. */
  with(changes: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    if (changes.size === 0) return this
    if (changes.size > maxSplices) return this.#rebuild(changes)
    const [keys, values] = [this.#keys.slice(), this.#values.slice()]
    for (const [key, value] of changes) {
      const index = search(keys, key)
      const exists = keys[index] === key
      if (value === undefined) {
        if (!exists) continue
        keys.splice(index, 1)
        values.splice(index, 1)
      } else if (exists) values[index] = value
      else {
        keys.splice(index, 0, key)
        values.splice(index, 0, value)
      }
    }
    return new SortedMap(keys, values)
  }

  keys(): MapIterator<string> {
    return this.#keys.values()
  }

  values(): MapIterator<V> {
    return this.#values.values()
  }

  *entries(): MapIterator<[string, V]> {
    for (const [index, key] of this.#keys.entries()) yield [key, this.#values[index] as V]
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries()
  }

  forEach(callback: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) callback(value, key, this)
  }

  #find(key: string): number {
    return search(this.#keys, key)
  }

  #rebuild(changes: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    const merged = new Map<string, V | undefined>(this)
    for (const [key, value] of changes) merged.set(key, value)
    return SortedMap.from(
      [...merged].filter((entry): entry is [string, V] => entry[1] !== undefined),
    )
  }
}

/** Binary search: the index of a key, or its insertion point. */
function search(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (byCodeUnit(keys[middle] as string, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
