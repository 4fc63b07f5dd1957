import { byCodePoint } from '../capability/json.ts'

/**
 * A map in code-point order of its keys that never changes. One with a few differences is made by
 * copying two arrays, so that a change of one costs the same among ten and among thousands.
 */
export class SortedMap<V> implements ReadonlyMap<string, V> {
  readonly #keys: readonly string[]
  readonly #values: readonly V[]

  private constructor(keys: readonly string[], values: readonly V[]) {
    this.#keys = keys
    this.#values = values
  }

  static from<V>(entries: Iterable<readonly [string, V]>): SortedMap<V> {
    const sorted = [...entries].sort(([a], [b]) => byCodePoint(a, b))
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

  /** Where a value is absent, its key goes. */
  with(differences: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    if (differences.size === 0) return this
    if (differences.size > 16) return this.#rebuilt(differences)
    const [keys, values] = [this.#keys.slice(), this.#values.slice()]
    for (const [key, value] of differences) {
      const index = search(keys, key)
      const isThere = keys[index] === key
      if (value === undefined) {
        if (!isThere) continue
        keys.splice(index, 1)
        values.splice(index, 1)
      } else if (isThere) values[index] = value
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

  forEach(tell: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) tell(value, key, this)
  }

  #find(key: string): number {
    return search(this.#keys, key)
  }

  #rebuilt(differences: ReadonlyMap<string, V | undefined>): SortedMap<V> {
    const all = new Map<string, V | undefined>(this)
    for (const [key, value] of differences) all.set(key, value)
    return SortedMap.from([...all].filter((entry): entry is [string, V] => entry[1] !== undefined))
  }
}

/** Where a key is, or would be. */
function search(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (byCodePoint(keys[middle] as string, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
