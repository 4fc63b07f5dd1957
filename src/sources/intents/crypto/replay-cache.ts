const maxEntries = 1_000_000

/** Ids of messages that were seen and have not expired yet. */
export class ReplayCache {
  readonly #seen = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** `true` the first time an id is seen. */
  admit(id: string, expiresAt: number): boolean {
    this.#removeExpired()
    if (this.#seen.has(id)) return false
    // Fail closed when full: rejecting a new message is safer than accepting a replay.
    if (this.#seen.size >= maxEntries) return false
    this.#seen.set(id, expiresAt)
    return true
  }

  /** Insertion order is roughly expiry order, so it stops at the first valid entry. */
  #removeExpired(): void {
    const now = this.#now()
    for (const [id, expiresAt] of this.#seen) {
      if (expiresAt >= now) return
      this.#seen.delete(id)
    }
  }
}
