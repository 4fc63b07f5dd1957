import type { Comparable } from '../model/stream.ts'

type Key = Comparable | null

/** Entries in the first map; later ones are distributed over the shards. */
const maxUnsharded = 32_768
const shardCount = 64
/** Fibonacci hashing: multiples of the golden ratio spread evenly over [0, 1). */
const goldenRatio = 0.618_033_988_749_895
/** Characters at each end of a string that go into its hash. */
const hashedLength = 16

/**
 * A map for hundreds of thousands of groups. One large `Map` would block the event loop each time it
 * is rehashed to grow.
 */
export class ShardedMap<Value> {
  readonly #first = new Map<Key, Value>()
  readonly #shards: (Map<Key, Value> | undefined)[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    const value = this.#first.get(key)
    if (value !== undefined || this.#size <= maxUnsharded) return value
    return this.#shards[toShard(key)]?.get(key)
  }

  /** The key must not be in the map yet. */
  add(key: Key, value: Value): void {
    this.#size += 1
    if (this.#size <= maxUnsharded) {
      this.#first.set(key, value)
      return
    }
    const index = toShard(key)
    const shard = this.#shards[index] ?? new Map<Key, Value>()
    this.#shards[index] = shard.set(key, value)
  }

  *values(): Generator<Value> {
    yield* this.#first.values()
    for (const shard of this.#shards) if (shard) yield* shard.values()
  }
}

function toShard(key: Key): number {
  if (key === null) return 0
  if (typeof key === 'number') {
    const spread = key * goldenRatio
    return Math.floor((spread - Math.floor(spread)) * shardCount)
  }
  let hash = key.length
  for (let at = 0; at < Math.min(hashedLength, key.length); at++)
    hash = Math.imul(hash, 31) + key.charCodeAt(at)
  for (let at = Math.max(hashedLength, key.length - hashedLength); at < key.length; at++)
    hash = Math.imul(hash, 31) + key.charCodeAt(at)
  return (hash >>> 0) % shardCount
}
