/** A caller without a request for this time is not active. */
const activeMs = 2000

/**
 * Tells whether several callers are active. It remembers the last one, and when another was active: that
 * is enough, and costs every request a comparison.
 */
export class RecentCallers {
  #last = ''
  #lastAt = Number.NEGATIVE_INFINITY
  /** When another caller than the last one was active. */
  #othersAt = Number.NEGATIVE_INFINITY

  note(caller: string, now: number): void {
    if (caller !== this.#last) {
      this.#othersAt = this.#lastAt
      this.#last = caller
    }
    this.#lastAt = now
  }

  othersThan(caller: string, now: number): boolean {
    const otherAt = caller === this.#last ? this.#othersAt : this.#lastAt
    return now - otherAt < activeMs
  }
}
