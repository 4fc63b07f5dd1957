import type { Comparable } from '../model/stream.ts'

type Key = Comparable | null

/** So many are in one map; those that come later are in as many maps as there are shards. */
const inOne = 32_768
const shardCount = 64
const golden = 0.618_033_988_749_895
/** Texts are told apart by so much of their beginning and of their end. */
const looked = 16

/**
 * A map of hundreds of thousands of groups. A single one would have to be copied as a whole each time
 * it grows, while everybody waits.
 */
export class ShardedMap<Value> {
  readonly #first = new Map<Key, Value>()
  readonly #shards: (Map<Key, Value> | undefined)[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    const known = this.#first.get(key)
    if (known !== undefined || this.#size <= inOne) return known
    return this.#shards[toShard(key)]?.get(key)
  }

  /** Of a group that is not there yet. */
  add(key: Key, value: Value): void {
    this.#size += 1
    if (this.#size <= inOne) {
      this.#first.set(key, value)
      return
    }
    const place = toShard(key)
    const shard = this.#shards[place] ?? new Map<Key, Value>()
    this.#shards[place] = shard.set(key, value)
  }

  *values(): Generator<Value> {
    yield* this.#first.values()
    for (const shard of this.#shards) if (shard) yield* shard.values()
  }
}

function toShard(key: Key): number {
  if (key === null) return 0
  if (typeof key === 'number') {
    const spread = key * golden
    return Math.floor((spread - Math.floor(spread)) * shardCount)
  }
  let sum = key.length
  for (let at = 0; at < Math.min(looked, key.length); at++)
    sum = Math.imul(sum, 31) + key.charCodeAt(at)
  for (let at = Math.max(looked, key.length - looked); at < key.length; at++)
    sum = Math.imul(sum, 31) + key.charCodeAt(at)
  return (sum >>> 0) % shardCount
}
