import { type Bytes, toText } from '../../sqlite/bytes.ts'
import type { Sqlite } from '../../sqlite/sqlite.ts'

/** Rows that are read as one JSON text: a driver returns it much faster than many short values. */
const pageRows = 100_000
/** Hashes that are handed on at once: adding them must not hold up the event loop. */
const maxHashes = 10_000

/**
 * The idempotency keys that this process has seen, as hashes in memory. A key that is here but not found in
 * the database is a hint of damage under the open file: bytes that change there leave no other trace.
 */
export class SeenKeys {
  readonly #keepMs: number
  readonly #now: () => number
  /** Two generations, so that old keys are dropped together. */
  #recent = new Set<number>()
  #older = new Set<number>()
  #rotatedAt: number
  #isComplete = false
  /** Keys that were deleted before all were added. */
  readonly #deleted = new Set<number>()

  constructor(keepMs: number, now: () => number) {
    this.#keepMs = keepMs
    this.#now = now
    this.#rotatedAt = now()
  }

  /** Whether the keys from before this process are here too. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Adds keys from before this process. */
  addHashes(hashes: Float64Array): void {
    for (const hash of hashes) if (!this.#deleted.has(hash)) this.#recent.add(hash)
  }

  /** All keys from before this process have been added. */
  complete(): void {
    this.#isComplete = true
    this.#deleted.clear()
  }

  has(key: RunKey): boolean {
    const hash = toHash(key)
    return this.#recent.has(hash) || this.#older.has(hash)
  }

  add(key: RunKey): void {
    if (key.key === null) return
    if (this.#now() - this.#rotatedAt > this.#keepMs) {
      this.#older = this.#recent
      this.#recent = new Set()
      this.#rotatedAt = this.#now()
    }
    this.#recent.add(toHash(key))
  }

  delete(key: RunKey): void {
    const hash = toHash(key)
    this.#recent.delete(hash)
    this.#older.delete(hash)
    if (!this.#isComplete) this.#deleted.add(hash)
  }
}

/** The hashes of the keys of all runs in a database. */
export function* readKeyHashes(database: Sqlite): Generator<Float64Array> {
  const page = database.prepare<{ count: number; keys: Bytes }>(
    `select cast(count(*) as integer) as count,
       cast(json_group_array(json_array(caller, capability, key)) as blob) as keys
     from (select caller, capability, key from runs where key is not null limit ${pageRows} offset ?)`,
  )
  for (let offset = 0, count = pageRows; count === pageRows; offset += pageRows) {
    const row = page.get(offset)
    count = row?.count ?? 0
    const keys = row ? (JSON.parse(toText(row.keys)) as [string, string, string][]) : []
    for (let start = 0; start < keys.length; start += maxHashes)
      yield Float64Array.from(keys.slice(start, start + maxHashes), ([caller, capability, key]) =>
        toHash({ caller, capability, key }),
      )
  }
}

interface RunKey {
  readonly caller: string
  readonly capability: string
  readonly key: string | null
}

/** 53 bits (cyrb53): a collision costs one check of the database, and nothing else. */
function toHash({ caller, capability, key }: RunKey): number {
  const text = `${caller}\n${capability}\n${key}`
  let [a, b] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}
