export interface ShareLimits {
  /** The most that one caller may hold. */
  readonly perCaller: number
  /** What all callers may hold together before equal shares apply. */
  readonly total: number
}

/**
 * Counts how much of a limited resource each caller holds. Max-min fairness: when the total is used
 * up, callers with less than an equal share are still admitted, so that some callers at their limit
 * cannot lock out the others.
 */
export class FairShares {
  readonly #limits: ShareLimits
  readonly #held = new Map<string, number>()
  #total = 0

  constructor(limits: ShareLimits) {
    this.#limits = limits
  }

  /** Takes `amount` for the caller, or returns `false` and takes nothing. */
  take(caller: string, amount = 1): boolean {
    const { perCaller, total } = this.#limits
    const held = (this.#held.get(caller) ?? 0) + amount
    if (held > perCaller) return false
    if (this.#total + amount > total) {
      const callers = this.#held.size + (this.#held.has(caller) ? 0 : 1)
      if (held > total / callers) return false
    }
    this.#held.set(caller, held)
    this.#total += amount
    return true
  }

  held(caller: string): number {
    return this.#held.get(caller) ?? 0
  }

  release(caller: string, amount = 1): void {
    const held = (this.#held.get(caller) ?? 0) - amount
    if (held > 0) this.#held.set(caller, held)
    else this.#held.delete(caller)
    this.#total -= amount
  }
}
