/** Milliseconds after which a turn was long, and up to which it was short. */
const [long, short] = [8, 2]
const [fewest, atFirst] = [16, 64]

/**
 * How many rows of a source one turn looks at: fewer where looking takes long, because long texts lie
 * in between. What is found does not depend on it, only in how many turns.
 */
export class AdaptiveBatch {
  readonly #now: () => number
  readonly #rows = new Map<number, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  take<T>(source: number, most: number, look: (rows: number) => T): T {
    const rows = Math.min(most, this.#rows.get(source) ?? atFirst)
    const began = this.#now()
    const found = look(rows)
    const took = this.#now() - began
    if (took >= long) this.#rows.set(source, Math.max(fewest, Math.floor(rows / 4)))
    else if (took <= short) this.#rows.set(source, 2 * rows)
    return found
  }
}
