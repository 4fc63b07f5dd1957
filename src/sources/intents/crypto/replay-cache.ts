const most = 1_000_000

/** What was seen already and could still be shown again. */
export class ReplayCache {
  readonly #seen = new Map<string, number>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether this is the first time; remembered until it expires by itself. */
  admit(id: string, expires: number): boolean {
    this.#forget()
    if (this.#seen.has(id)) return false
    // Full of what is still good: rather nothing new than something twice.
    if (this.#seen.size >= most) return false
    this.#seen.set(id, expires)
    return true
  }

  /** They expire about as they came, so only the oldest are looked at. */
  #forget(): void {
    const now = this.#now()
    for (const [id, expires] of this.#seen) {
      if (expires >= now) return
      this.#seen.delete(id)
    }
  }
}
